// The bytes of a filter file's header, and how both sides find their way in the rest.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "filter/filter_file.h"
#include "filter/shared_cells.h"

namespace cuckooguard::filter {

inline constexpr std::array<char, 8> kFileMagic{'C', 'K', 'G', 'U', 'A', 'R', 'D', '\n'};
inline constexpr std::uint32_t kFileVersion = 1;
inline constexpr std::uint32_t kFileByteOrder = 0x01020304;
inline constexpr std::uint32_t kHashKindXxh3 = 1;  // XXH3-64 with a 192-byte secret
inline constexpr std::size_t kFileHeaderBytes = 4096;
inline constexpr std::size_t kFileBlockBytes = 1024UL * 1024;

struct FileHeader {
  std::array<char, 8> magic;
  std::uint32_t version;
  std::uint32_t byte_order;
  std::uint32_t layout;
  std::uint32_t deletes;
  std::uint32_t hash_kind;
  std::uint32_t block_bytes;
  std::uint64_t buckets;
  double sizing_load;
  std::uint64_t secret_id;
  std::uint64_t definition_hash;
  std::uint64_t created;
  std::uint64_t items;
  std::uint64_t fingerprints;
  std::uint64_t stale;
  std::uint64_t missing_deletes;
  std::uint64_t count_slots;   // exact: slots of the counts, else 0
  std::uint64_t large_counts;  // exact: how many counts stand behind them
  std::uint64_t checksums_checksum;
  std::uint64_t stash_mask;
  std::array<std::uint64_t, kStashEntries> stash;
  std::uint64_t position_bytes;
  std::array<char, kSourcePositionMax> position;
  std::uint64_t attachment_bytes;
  Digest digest;  // in older files zeros
  std::array<std::byte, 1360> zeros;
  std::uint64_t header_checksum;  // of everything before it
};
static_assert(sizeof(FileHeader) == kFileHeaderBytes);

struct LargeCount {
  std::uint64_t hash;
  std::uint64_t count;
};

// Sizes of the parts behind the header. Meaningful once FileHeader's numbers are within bounds.
struct FileParts {
  std::uint64_t words_bytes;
  std::uint64_t count_hashes_bytes;
  std::uint64_t small_counts_bytes;  // rounded up to 8
  std::uint64_t large_counts_bytes;
  std::uint64_t attachment_bytes;

  explicit FileParts(const FileHeader& header)
      : words_bytes(header.buckets * sizeof(std::uint64_t)),
        count_hashes_bytes(header.count_slots * sizeof(std::uint64_t)),
        small_counts_bytes((header.count_slots + 7) / 8 * 8),
        large_counts_bytes(header.large_counts * sizeof(LargeCount)),
        attachment_bytes(header.attachment_bytes) {}

  [[nodiscard]] std::uint64_t payload_bytes() const {
    return words_bytes + count_hashes_bytes + small_counts_bytes + large_counts_bytes +
           attachment_bytes;
  }
  [[nodiscard]] std::uint64_t blocks() const {
    return (payload_bytes() + kFileBlockBytes - 1) / kFileBlockBytes;
  }
  [[nodiscard]] std::uint64_t checksums_bytes() const { return blocks() * sizeof(std::uint64_t); }
  [[nodiscard]] std::uint64_t file_bytes() const {
    return kFileHeaderBytes + checksums_bytes() + payload_bytes();
  }
};

std::uint64_t file_checksum(std::span<const std::byte> bytes) noexcept;

// The same for bytes that come in parts.
class FileChecksum {
 public:
  FileChecksum();
  void add(std::span<const std::byte> bytes) noexcept;
  std::uint64_t value() const noexcept;
  std::uint64_t finish() noexcept;  // then it begins again

 private:
  struct Free {
    void operator()(void* state) const noexcept;
  };
  std::unique_ptr<void, Free> state_;
};

// Verified, with all that follows from it alone.
std::expected<FileHeader, FilterFileError> read_header(std::span<const std::byte> bytes);
Sizing sizing_of(const FileHeader& header);

// Without its checksums.
FileHeader header_of(const CuckooFilter& filter, const FilterFileLabel& label);
void set_position(FileHeader& header, std::string_view position);
void seal(FileHeader& header);
// By hash: the same counts are the same bytes.
std::vector<LargeCount> large_counts_of(const ExactCounts& counts);

// What a file whose checksums match has in it, but the stash: the header has that.
struct FileContents {
  std::unique_ptr<CuckooFilter> filter;     // its words
  std::unique_ptr<ExactCounts> counts;      // null: none; its words
  std::span<const std::byte> large_counts;  // of them
  std::uint64_t fingerprints = 0;           // in the words; of a stranger's file
};
std::expected<std::unique_ptr<CuckooFilter>, FilterFileError> filter_of(const FileHeader& header,
                                                                        FileContents contents,
                                                                        FilterFileOrigin origin);

// Opens up a CuckooFilter for its file.
class FilterFileAccess {
 public:
  static const FilterTable& table(const CuckooFilter& filter) { return *filter.table_; }
  static FilterTable& table(CuckooFilter& filter) { return *filter.table_; }
  static const ExactCounts* counts(const CuckooFilter& filter) { return filter.counts_.get(); }
  static ExactCounts* counts(CuckooFilter& filter) { return filter.counts_.get(); }
  static void set_counts(CuckooFilter& filter, std::unique_ptr<ExactCounts> counts);
  static void set_statistics(CuckooFilter& filter, const FileHeader& header);
};

}  // namespace cuckooguard::filter
