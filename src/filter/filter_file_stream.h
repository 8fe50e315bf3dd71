// A filter file (filter_file.h) that comes in parts, of whatever sizes: each is verified, and put
// in its place, when it comes, so that little is left to do when all has come.
//
// Threads:   one at a time. Lifetimes: a part is not needed any more when add() returns.
// Errors:    FilterFileError, as of parse_filter_file(), at the end; std::bad_alloc of add().
// Limits:    memory of a filter that has a file of so many bytes. With counts, finish() takes as
//            long as an erase of each key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "filter/before_image.h"
#include "filter/cuckoo_filter.h"
#include "filter/exact_counts.h"
#include "filter/filter_file.h"
#include "filter/filter_file_format.h"

namespace cuckooguard::filter {

// A filter's file (filter_file.h) as it would have been written at one moment, read in steps while
// the filter's writer goes on between them. Checksums stand in front of what they are of, so that
// everything is read twice.
//
// Threads:   the filter's writer's, also the destructor.
// Lifetimes: the filter, or what it was, lives as long as its image.
// Errors:    std::bad_alloc; without memory for what the writer has changed meanwhile it is_lost().
// Limits:    a step looks at kStepBytes at most, but that it is done takes a header and 8 bytes for
//            each MiB. Memory: before_image.h, and a copy of what the filter counts above 254.
class FilterFileImage {
 public:
  static constexpr std::size_t kStepBytes = std::size_t{64} << 10U;

  explicit FilterFileImage(std::shared_ptr<CuckooFilter> filter);
  FilterFileImage(const FilterFileImage&) = delete;
  FilterFileImage& operator=(const FilterFileImage&) = delete;
  ~FilterFileImage();

  // How long it is; of a filter, how long it would be now.
  std::uint64_t bytes() const { return parts_.file_bytes(); }
  static std::uint64_t bytes_of(const CuckooFilter& filter);

  // Appends what comes next, perhaps nothing yet. False: that was all.
  bool step(std::string& out);
  bool is_lost() const { return words_.is_lost() || (counts_ && counts_->is_lost()); }

 private:
  // The next words of the payload from one on; a step's at most.
  std::span<const std::uint64_t> payload(std::uint64_t from, std::uint64_t most);

  std::shared_ptr<CuckooFilter> filter_;
  FileHeader header_;
  FileParts parts_;
  BeforeImage words_;
  std::shared_ptr<PageMemory> counts_memory_;
  std::optional<BeforeImage> counts_;
  std::vector<std::uint64_t> large_;  // pairs, as LargeCount
  std::vector<std::uint64_t> buffer_;
  FileChecksum sum_;
  std::vector<std::uint64_t> checksums_;
  std::uint64_t payload_words_;
  std::uint64_t summed_ = 0;  // words
  bool has_front_ = false;
  std::uint64_t given_ = 0;  // words
};

class FilterFileStream {
 public:
  // `bytes`: how long the file is to be.
  FilterFileStream(const HashSecret& secret, std::uint64_t bytes, FilterFileOrigin origin);

  void add(std::span<const std::byte> part);
  std::uint64_t received() const { return received_; }
  // Header and what is verified of it so far; nothing: it has not come yet.
  std::span<const std::byte> header_bytes() const;

  // When all has come. Once.
  std::expected<std::unique_ptr<CuckooFilter>, FilterFileError> finish();

 private:
  using Bytes = std::span<const std::byte>;

  std::size_t take_front(Bytes part);
  std::size_t take_payload(Bytes part);
  void begin();
  void put_in_place(std::uint64_t at, Bytes bytes);
  void fail(FilterFileFault what, const char* sentence);

  const HashSecret& secret_;
  std::uint64_t bytes_;
  FilterFileOrigin origin_;
  std::uint64_t received_ = 0;
  std::vector<std::byte> front_;  // header, checksums
  bool has_header_ = false;
  FileHeader header_{};  // then, and
  FileParts parts_{header_};
  std::unique_ptr<CuckooFilter> filter_;
  std::unique_ptr<ExactCounts> counts_;
  std::vector<std::byte> large_counts_;
  FileChecksum sum_;
  std::uint64_t fingerprints_ = 0;
  std::uint64_t counted_ = 0;  // buckets
  std::optional<FilterFileError> error_;
};

}  // namespace cuckooguard::filter
