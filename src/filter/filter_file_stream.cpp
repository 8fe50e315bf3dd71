#include "filter/filter_file_stream.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "filter/table.h"

namespace cuckooguard::filter {
namespace {

constexpr std::uint64_t kStepWords = FilterFileImage::kStepBytes / sizeof(std::uint64_t);
constexpr std::uint64_t kBlockWords = kFileBlockBytes / sizeof(std::uint64_t);

void append(std::string& out, std::span<const std::byte> bytes) {
  out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace

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
  return filter_of(header_,
                   {.filter = std::move(filter_),
                    .counts = std::move(counts_),
                    .large_counts = large_counts_,
                    .fingerprints = fingerprints_},
                   origin_);
}

FilterFileImage::FilterFileImage(std::shared_ptr<CuckooFilter> filter)
    : filter_(std::move(filter)),
      header_(header_of(*filter_, {})),
      parts_(header_),
      words_(std::as_const(FilterFileAccess::table(*filter_)).cells().words()),
      payload_words_(parts_.payload_bytes() / sizeof(std::uint64_t)) {
  BeforeImages& of_words = FilterFileAccess::table(*filter_).cells().images();
  of_words.reserve();
  ExactCounts* const counts = FilterFileAccess::counts(*filter_);
  if (counts != nullptr) {
    counts->images().reserve();
    counts_memory_ = counts->memory();
    counts_.emplace(counts->words());
    for (const LargeCount& each : large_counts_of(*counts)) {
      large_.insert(large_.end(), {each.hash, each.count});
    }
    counts->images().add(*counts_);
  }
  of_words.add(words_);  // from here on nothing throws: the destructor takes them out
}

FilterFileImage::~FilterFileImage() {
  FilterFileAccess::table(*filter_).cells().images().remove(words_);
  if (counts_) {
    FilterFileAccess::counts(*filter_)->images().remove(*counts_);
  }
}

std::uint64_t FilterFileImage::bytes_of(const CuckooFilter& filter) {
  FileHeader header{};
  header.buckets = filter.sizing().buckets;
  if (const ExactCounts* const counts = FilterFileAccess::counts(filter)) {
    header.count_slots = counts->hashes().size();
    header.large_counts = counts->large_counts().size();
  }
  return FileParts(header).file_bytes();
}

std::span<const std::uint64_t> FilterFileImage::payload(std::uint64_t from, std::uint64_t most) {
  buffer_.resize(std::min(kStepWords, payload_words_));
  const auto next = [&](std::uint64_t size) {
    return std::span(buffer_).first(std::min({kStepWords, most, size - from}));
  };
  if (from < words_.size()) {
    const auto read = next(words_.size());
    words_.read(from, read);
    return read;
  }
  from -= words_.size();
  if (counts_ && from < counts_->size()) {
    const auto read = next(counts_->size());
    counts_->read(from, read);
    return read;
  }
  from -= counts_ ? counts_->size() : 0;
  return std::span(large_).subspan(from).first(std::min({kStepWords, most, large_.size() - from}));
}

bool FilterFileImage::step(std::string& out) {
  if (summed_ < payload_words_) {
    const auto words = payload(summed_, kBlockWords - summed_ % kBlockWords);
    sum_.add(std::as_bytes(words));
    summed_ += words.size();
    if (summed_ % kBlockWords == 0 || summed_ == payload_words_) {
      checksums_.push_back(sum_.finish());
    }
    return true;
  }
  if (!std::exchange(has_front_, true)) {
    const auto checksums = std::as_bytes(std::span(checksums_));
    header_.checksums_checksum = file_checksum(checksums);
    seal(header_);
    append(out, std::as_bytes(std::span(&header_, 1)));
    append(out, checksums);
    return true;
  }
  const auto words = payload(given_, kStepWords);
  append(out, std::as_bytes(words));
  given_ += words.size();
  words_.forget(std::min(given_, words_.size()));
  if (counts_) {
    counts_->forget(given_ - std::min(given_, words_.size()));
  }
  return given_ < payload_words_;
}

}  // namespace cuckooguard::filter
