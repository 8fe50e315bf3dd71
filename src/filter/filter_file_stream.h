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
#include <vector>

#include "filter/cuckoo_filter.h"
#include "filter/exact_counts.h"
#include "filter/filter_file.h"
#include "filter/filter_file_format.h"

namespace cuckooguard::filter {

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
