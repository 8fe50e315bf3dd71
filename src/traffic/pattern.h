// What reads of keys without a row look like, in one word for people.
//
//   few_reads   fewer than kLeast were sampled in the last kWindow
//   few_keys    the ten most frequent keys have half of them
//   ascending   of the steps from one id to the same client's next, three quarters go up
//   one_prefix  three quarters of the keys share at least kPrefixBytes more than the namespace's
//               keys do anyway
//   random      nine in ten keys are different, and nothing of the above
//   mixed       none of these
//
// Threads: pure functions. Limits: the time is that of n^2 steps for a sample of n.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "text/network.h"

namespace cuckooguard::traffic {

// A key, as far as it is kept.
//
// Threads: plain values.
class KeyText {
 public:
  static constexpr std::size_t kBytes = 63;

  KeyText() = default;
  explicit KeyText(std::string_view key)
      : size_(static_cast<std::uint8_t>(key.copy(bytes_.data(), kBytes))) {}

  std::string_view view() const { return {bytes_.data(), size_}; }

 private:
  std::array<char, kBytes> bytes_{};
  std::uint8_t size_ = 0;
};

struct AbsentRead {
  std::chrono::steady_clock::time_point at{};
  std::optional<std::uint64_t> number{};  // the id, if it is one integer
  text::Network from{};
  KeyText key{};
};

enum class Pattern : std::uint8_t { few_reads, few_keys, ascending, one_prefix, random, mixed };
inline constexpr std::array<std::string_view, 6> kPatternNames{
    "few_reads", "few_keys", "ascending", "one_prefix", "random", "mixed"};
constexpr std::string_view name_of(Pattern pattern) {
  return kPatternNames.at(static_cast<std::size_t>(pattern));
}

inline constexpr std::chrono::seconds kWindow{60};
inline constexpr std::size_t kLeast = 30;
inline constexpr std::size_t kPrefixBytes = 3;

// Of reads in the order of their time; `few`: the share of the ten most frequent keys; `prefix`:
// the bytes that all of the namespace's keys share.
Pattern pattern_of(std::span<const AbsentRead> reads, double few, std::size_t prefix);

}  // namespace cuckooguard::traffic
