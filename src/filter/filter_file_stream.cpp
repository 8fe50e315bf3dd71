#include "filter/filter_file_stream.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "filter/table.h"

namespace cuckooguard::filter {

FilterFileStream::FilterFileStream(const HashSecret& secret,
                                   std::uint64_t bytes,
                                   FilterFileOrigin origin)
    : secret_(secret), bytes_(bytes), origin_(origin) {}

void FilterFileStream::fail(FilterFileFault what, const char* sentence) {
  if (!error_) {
    error_ = FilterFileError{what, sentence};
  }
}

std::span<const std::byte> FilterFileStream::header_bytes() const {
  return front_.size() < kFileHeaderBytes ? Bytes() : Bytes(front_).first(kFileHeaderBytes);
}

void FilterFileStream::add(Bytes part) {
  while (!part.empty()) {
    std::size_t taken = part.size();  // once it is wrong, the rest only comes
    if (!error_) {
      const bool is_front =
          !has_header_ || front_.size() < kFileHeaderBytes + parts_.checksums_bytes();
      taken = is_front ? take_front(part) : take_payload(part);
    }
    received_ += taken;
    part = part.subspan(taken);
  }
}

std::size_t FilterFileStream::take_front(Bytes part) {
  const std::uint64_t whole =
      kFileHeaderBytes + (has_header_ ? parts_.checksums_bytes() : std::uint64_t{0});
  const Bytes taken = part.first(std::min<std::uint64_t>(part.size(), whole - front_.size()));
  front_.insert(front_.end(), taken.begin(), taken.end());
  if (front_.size() == whole) {
    begin();
  }
  return taken.size();
}

// What follows the header, or the checksums.
void FilterFileStream::begin() {
  if (has_header_) {
    if (file_checksum(Bytes(front_).subspan(kFileHeaderBytes)) != header_.checksums_checksum) {
      fail(FilterFileFault::corrupt, "the checksum of the checksums does not match");
    }
    return;
  }
  auto header = read_header(front_);
  if (!header) {
    error_ = std::move(header.error());
    return;
  }
  const FileParts parts(*header);
  if (parts.file_bytes() != bytes_) {
    fail(FilterFileFault::truncated, "shorter or longer than its header says");
  } else if (header->secret_id != secret_.id()) {
    fail(FilterFileFault::wrong_secret, "hashed with another secret");
  } else {
    filter_ = std::make_unique<CuckooFilter>(sizing_of(*header), secret_);
    counts_ = header->count_slots == 0 ? nullptr : ExactCounts::of_slots(header->count_slots);
    parts_ = parts;
    header_ = *header;
    has_header_ = true;
  }
}

std::size_t FilterFileStream::take_payload(Bytes part) {
  const std::uint64_t at = received_ - front_.size();
  const std::uint64_t in_block = at % kFileBlockBytes;
  const std::uint64_t left = parts_.payload_bytes() - at;
  if (left == 0) {
    fail(FilterFileFault::truncated, "longer than its header says");
    return part.size();
  }
  const Bytes taken =
      part.first(std::min<std::uint64_t>({part.size(), kFileBlockBytes - in_block, left}));
  sum_.add(taken);
  put_in_place(at, taken);
  if (in_block + taken.size() == kFileBlockBytes || taken.size() == left) {
    std::uint64_t expected = 0;
    std::memcpy(&expected,
                front_.data() + kFileHeaderBytes + at / kFileBlockBytes * sizeof(expected),
                sizeof(expected));
    if (sum_.finish() != expected) {
      fail(FilterFileFault::corrupt, "the checksum of a block does not match");
    }
  }
  return taken.size();
}

void FilterFileStream::put_in_place(std::uint64_t at, Bytes bytes) {
  // Those of `bytes` that belong into a part that begins at `begin`.
  const auto put = [&](std::uint64_t begin, std::span<std::byte> into) {
    const std::uint64_t from = std::clamp(at, begin, begin + into.size());
    const std::uint64_t to = std::clamp(at + bytes.size(), begin, begin + into.size());
    if (from < to) {
      std::memcpy(into.data() + (from - begin), bytes.data() + (from - at), to - from);
    }
    return begin + into.size();
  };
  FilterTable& table = FilterFileAccess::table(*filter_);
  std::uint64_t next = put(0, std::as_writable_bytes(table.cells().words()));
  const std::uint64_t whole = std::min(at + bytes.size(), next) / sizeof(std::uint64_t);
  if (whole > counted_) {
    fingerprints_ += table.count_fingerprints(counted_, whole);
    counted_ = whole;
  }
  if (counts_) {
    next = put(next, std::as_writable_bytes(counts_->words_to_fill()));
    if (at + bytes.size() > next && large_counts_.size() < parts_.large_counts_bytes) {
      large_counts_.resize(parts_.large_counts_bytes);
    }
    put(next, large_counts_);
  }
}

std::expected<std::unique_ptr<CuckooFilter>, FilterFileError> FilterFileStream::finish() {
  if (!error_ && (!has_header_ || received_ != bytes_)) {
    fail(FilterFileFault::truncated, "shorter than it should be");
  }
  if (error_) {
    return std::unexpected(*error_);
  }
  SharedCells& cells = FilterFileAccess::table(*filter_).cells();
  for (unsigned entry = 0; entry < kStashEntries; ++entry) {
    cells.store_stash(entry, header_.stash[entry]);
  }
  cells.store_stash_mask(header_.stash_mask);
  if (counts_) {
    if (!counts_->fill(large_counts_in(large_counts_))) {
      return std::unexpected(FilterFileError{FilterFileFault::corrupt, "the counts cannot be"});
    }
    FilterFileAccess::set_counts(*filter_, std::move(counts_));
  }
  FilterFileAccess::set_statistics(*filter_, header_);
  if (origin_ == FilterFileOrigin::stranger &&
      (fingerprints_ != header_.fingerprints || !could_be_contents(header_, *filter_))) {
    return std::unexpected(
        FilterFileError{FilterFileFault::corrupt, "no filter has such contents"});
  }
  return std::move(filter_);
}

}  // namespace cuckooguard::filter
