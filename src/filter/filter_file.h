// A filter in a file: written at a checkpoint, read at the next start.
//
//   offset 0      header, 4096 bytes: FileHeader (filter_file_format.h), zeros, its own checksum
//   offset 4096   checksums, 8 bytes for each block of 1 MiB of what follows (the last is shorter)
//   behind them   the table's words; with exact counts: hashes, counts, large counts; an attachment
//
// Numbers are in the byte order of the machine that wrote them, which the header states. Checksums
// are XXH3-64; every byte is covered by one, and all are verified before anything is used. A file
// is written beside its place, synced, and renamed: a crash leaves the old one or the new one. On
// any mismatch there is no filter but an error that says what is wrong; the caller loads from the
// source.
//
// The words are read into memory of our own (huge pages, writable at once) and not served from the
// mapping: a mapped file could be truncated under running look-ups, and verifying reads it all
// anyway.
//
// Threads:   write_filter_file() on the filter's writer thread; the others anywhere.
// Errors:    FilterFileError; std::bad_alloc.
// Limits:    kSourcePositionMax bytes of position, kAttachmentMax of an attachment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "filter/cuckoo_filter.h"
#include "filter/file_descriptor.h"

namespace cuckooguard::filter {

inline constexpr std::size_t kSourcePositionMax = 2048;
inline constexpr std::size_t kAttachmentMax = std::size_t{16} << 20U;

// The file's statement of where the filter comes from, which the filter room does not interpret.
struct FilterFileLabel {
  std::string source_position;        // how far the source had been applied
  std::uint64_t definition_hash = 0;  // of templates, columns, condition, schema: see source
  std::uint64_t created = 0;          // seconds since 1970
  std::string attachment;             // what else it keeps of the rows
};

enum class FilterFileFault : std::uint8_t {
  unreadable,        // the system's error
  not_a_filter,      // other beginning
  wrong_version,     // another format version, or another byte order
  truncated,         // shorter or longer than its header says
  corrupt,           // a checksum does not match, or contents that cannot be
  wrong_secret,      // hashed with another secret
  wrong_definition,  // of other keys or rows than the configuration's
  unwritable
};

struct FilterFileError {
  FilterFileFault fault;
  std::string what;  // a sentence, with the path
};

struct FilterFile {
  std::unique_ptr<CuckooFilter> filter;
  FilterFileLabel label;
  std::uint64_t id = 0;  // tells it from every other file: a checksum of all that is in it
};

// For `filter inspect`: the header's facts, checksums verified, no secret needed.
struct FilterFileFacts {
  FilterFileLabel label;
  Sizing sizing;
  std::uint64_t version = 0;
  std::uint64_t items = 0;
  std::uint64_t fingerprints = 0;
  std::uint64_t stashed = 0;
  std::uint64_t stale = 0;
  bool full = false;
  std::uint64_t secret_id = 0;
  std::uint64_t file_bytes = 0;
};

std::expected<void, FilterFileError> write_filter_file(const std::string& path,
                                                       const CuckooFilter& filter,
                                                       const FilterFileLabel& label);

// The same in two steps: the filter must not change during the first one, which copies it into the
// system's cache; the second one waits for the disk. A file that is not put in its place is
// removed.
class WrittenFilterFile {
 public:
  static std::expected<WrittenFilterFile, FilterFileError> write(const std::string& path,
                                                                 const CuckooFilter& filter,
                                                                 const FilterFileLabel& label);
  // A text instead of a filter, to be stored next to filters.
  static std::expected<WrittenFilterFile, FilterFileError> write(const std::string& path,
                                                                 std::string_view text);
  // The same for a text in parts: `next` appends the next part, and returns whether there is more.
  static std::expected<WrittenFilterFile, FilterFileError> write(
      const std::string& path, const std::function<bool(std::string& out)>& next);
  WrittenFilterFile(WrittenFilterFile&& other) noexcept;
  WrittenFilterFile& operator=(WrittenFilterFile&&) = delete;
  WrittenFilterFile(const WrittenFilterFile&) = delete;
  WrittenFilterFile& operator=(const WrittenFilterFile&) = delete;
  ~WrittenFilterFile();

  std::expected<void, FilterFileError> put_in_place();
  std::uint64_t id() const { return id_; }  // FilterFile's; of a text 0

 private:
  WrittenFilterFile(std::string path, std::string temporary, FileDescriptor file);
  static std::expected<WrittenFilterFile, FilterFileError> begin(const std::string& path);

  std::string path_;
  std::string temporary_;  // empty: it is gone, or in its place
  FileDescriptor file_;
  std::uint64_t id_ = 0;
};

// Hash of everything that decides whether a file's filter may be used
// (FilterFileLabel::definition_hash).
std::uint64_t hash_of_definition(std::string_view text) noexcept;

std::expected<FilterFile, FilterFileError> read_filter_file(const std::string& path,
                                                            const HashSecret& secret);
// Also refuses a file with another definition hash.
std::expected<FilterFile, FilterFileError> read_filter_file(const std::string& path,
                                                            const HashSecret& secret,
                                                            std::uint64_t definition_hash);

std::expected<FilterFileFacts, FilterFileError> inspect_filter_file(const std::string& path);

// The same from bytes (filter_file_stream.h gives them). Checksums are no secret: of a stranger's
// bytes it is also checked that a filter could have come to be as they are, which costs as much as
// an erase of each key.
enum class FilterFileOrigin : std::uint8_t { own, stranger };
std::expected<FilterFile, FilterFileError> parse_filter_file(
    std::span<const std::byte> bytes,
    const HashSecret& secret,
    FilterFileOrigin origin = FilterFileOrigin::own);

// The beginning of a file, of which only the header has been verified.
struct FilterFileFront {
  Sizing sizing;
  std::uint64_t secret_id = 0;
  std::string source_position;
};
std::expected<FilterFileFront, FilterFileError> read_filter_file_front(
    std::span<const std::byte> bytes);
// The header of such bytes as it would be with another position.
std::vector<std::byte> header_with_position(std::span<const std::byte> bytes,
                                            std::string_view source_position);

}  // namespace cuckooguard::filter
