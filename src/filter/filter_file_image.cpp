#include "filter/filter_file_image.h"

#include <algorithm>
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
