#include "guard/key_shapes.h"

#include <algorithm>

#include "text/ascii.h"

namespace cuckooguard::guard {
namespace {

constexpr std::string_view kSeparators = ":/|.-_#{";

}  // namespace

std::string_view shape_of(std::string_view key) noexcept {
  const std::string_view begin = key.substr(0, KeyShapes::kShapeBytesMax);
  const auto letters =
      static_cast<std::size_t>(std::ranges::find_if_not(begin, text::is_letter) - begin.begin());
  if (letters == 0 || letters == begin.size()) {
    return {};
  }
  const char next = begin[letters];
  if (text::is_digit(next)) {
    return begin.substr(0, letters);
  }
  return kSeparators.contains(next) ? begin.substr(0, letters + 1) : std::string_view{};
}

void KeyShapes::take(std::uint64_t number, std::string_view key) noexcept {
  constexpr std::uint64_t kStepMax = 2 * kAllUpTo - 1;
  random_ ^= random_ << 13U;
  random_ ^= random_ >> 7U;
  random_ ^= random_ << 17U;
  const std::uint64_t reads = number - last_;
  last_ = number;
  due_ = number + 1 + (number < kAllUpTo ? 0 : random_ % kStepMax);
  const std::string_view shape = shape_of(key);
  if (shape.empty()) {
    return;
  }
  Words words{};
  std::memcpy(words.data(), shape.data(), shape.size());
  const auto known =
      std::ranges::find_if(places_, [&](const Place& place) { return holds(place, words); });
  if (known != places_.end()) {
    known->reads.store(known->reads.load(std::memory_order_relaxed) + reads,
                       std::memory_order_relaxed);
    known->credit += reads;
    return;
  }
  Place& least = *std::ranges::min_element(places_, {}, &Place::credit);
  least.credit += reads;
  put(least, words, reads);
}

void KeyShapes::clear() noexcept {
  for (Place& place : places_) {
    put(place, {}, 0);
    place.credit = 0;
  }
}

// What it says is stored behind its odd version, and before the even one: whoever has read any of
// it sees the former.
void KeyShapes::put(Place& place, const Words& words, std::uint64_t reads) noexcept {
  const std::uint32_t version = place.version.load(std::memory_order_relaxed);
  place.version.store(version + 1, std::memory_order_relaxed);
  for (std::size_t i = 0; i < words.size(); ++i) {
    place.words[i].store(words[i], std::memory_order_release);
  }
  place.reads.store(reads, std::memory_order_release);
  place.version.store(version + 2, std::memory_order_release);
}

bool KeyShapes::holds(const Place& place, const Words& words) noexcept {
  return std::ranges::equal(place.words, words, {}, [](const auto& word) {
    return word.load(std::memory_order_relaxed);
  });
}

std::optional<KeyShapes::Seen> KeyShapes::read(const Place& place) noexcept {
  const std::uint32_t version = place.version.load(std::memory_order_acquire);
  Seen seen{};
  for (std::size_t i = 0; i < seen.words.size(); ++i) {
    seen.words[i] = place.words[i].load(std::memory_order_acquire);
  }
  seen.reads = place.reads.load(std::memory_order_acquire);
  const bool is_whole =
      version % 2 == 0 && place.version.load(std::memory_order_relaxed) == version;
  return is_whole && seen.words[0] != 0 ? std::optional(seen) : std::nullopt;
}

}  // namespace cuckooguard::guard
