#include "keyspace/canonical_integer.h"

#include <cstddef>
#include <limits>

namespace cuckooguard::keyspace {
namespace {

constexpr std::size_t kDigitsMax = 20;  // of 2^64 - 1

}  // namespace

std::optional<std::uint64_t> canonical_uint64(std::string_view text) noexcept {
  const bool has_leading_zero = text.size() > 1 && text[0] == '0';
  if (text.empty() || text.size() > kDigitsMax || has_leading_zero) {
    return std::nullopt;
  }
  // Digits but the last of twenty cannot overflow.
  std::uint64_t value = 0;
  for (const char c : text.substr(0, kDigitsMax - 1)) {
    const auto digit = static_cast<std::uint64_t>(static_cast<unsigned char>(c)) - '0';
    if (digit > 9) {
      return std::nullopt;
    }
    value = value * 10 + digit;
  }
  if (text.size() < kDigitsMax) {
    return value;
  }
  const auto digit = static_cast<std::uint64_t>(static_cast<unsigned char>(text.back())) - '0';
  constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max();
  const bool fits =
      digit <= 9 && (value < kLargest / 10 || (value == kLargest / 10 && digit <= kLargest % 10));
  return fits ? std::optional(value * 10 + digit) : std::nullopt;
}

std::optional<std::int64_t> canonical_int64(std::string_view text) noexcept {
  const bool negative = text.starts_with('-');
  const std::optional<std::uint64_t> magnitude = canonical_uint64(text.substr(negative ? 1 : 0));
  constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const bool fits = magnitude && (negative ? *magnitude != 0 && *magnitude <= kLargest + 1
                                           : *magnitude <= kLargest);
  if (!fits) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(negative ? 0 - *magnitude : *magnitude);
}

}  // namespace cuckooguard::keyspace
