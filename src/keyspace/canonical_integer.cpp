#include "keyspace/canonical_integer.h"

#include <bit>
#include <cstddef>
#include <cstring>
#include <limits>

namespace cuckooguard::keyspace {
namespace {

constexpr std::size_t kDigitsMax = 20;  // of 2^64 - 1

// Eight digits in one register, the first one lowest.
constexpr std::size_t kAtOnce = 8;
constexpr std::uint64_t kOfAll = 100'000'000;  // numbers that they can be
constexpr std::uint64_t kZeros = 0x3030303030303030;
static_assert(std::endian::native == std::endian::little);

template <class Word>
std::uint64_t load(const char* text) noexcept {
  Word bytes;
  std::memcpy(&bytes, text, sizeof(bytes));
  return bytes;
}

// Fewer than kAtOnce, and at least one. Not copied byte by byte: a word that is read where bytes
// have just been written waits for them.
std::uint64_t load_few(const char* text, std::size_t size) noexcept {
  if (size >= sizeof(std::uint32_t)) {  // two words, which may overlap
    const std::size_t second = size - sizeof(std::uint32_t);
    return load<std::uint32_t>(text) | load<std::uint32_t>(text + second) << 8 * second;
  }
  const std::size_t middle = size / 2;
  const std::size_t last = size - 1;
  return load<std::uint8_t>(text) | load<std::uint8_t>(text + middle) << 8 * middle |
         load<std::uint8_t>(text + last) << 8 * last;
}

bool are_digits(std::uint64_t bytes) noexcept {
  constexpr std::uint64_t kHighHalves = 0xf0f0f0f0f0f0f0f0;
  constexpr std::uint64_t kUpToNine = 0x0606060606060606;  // above it, these carry into the half
  return (bytes & kHighHalves) == kZeros && ((bytes + kUpToNine) & kHighHalves) == kZeros;
}

// Neighbours are joined to numbers below 100, these to numbers below 10,000, and these to one.
std::uint64_t number_of(std::uint64_t digits) noexcept {
  digits -= kZeros;
  digits = (digits * 10 + (digits >> 8U)) & 0x00ff00ff00ff00ff;
  digits = (digits * 100 + (digits >> 16U)) & 0x0000ffff0000ffff;
  return (digits * 10000 + (digits >> 32U)) & 0xffffffff;
}

// False: not all are digits.
bool append_digits(std::uint64_t& value, std::uint64_t bytes) noexcept {
  if (!are_digits(bytes)) {
    return false;
  }
  value = value * kOfAll + number_of(bytes);
  return true;
}

}  // namespace

bool read_canonical_uint64(std::string_view text, std::uint64_t& number) noexcept {
  const bool has_leading_zero = text.size() > 1 && text[0] == '0';
  if (text.empty() || text.size() > kDigitsMax || has_leading_zero) {
    return false;
  }
  constexpr std::string_view kLargest = "18446744073709551615";
  if (text.size() == kDigitsMax && text > kLargest) {
    return false;
  }
  // Those that do not fill a register come first, with zeros in front of them.
  const char* const begin = text.data();
  std::size_t at = text.size() % kAtOnce;
  std::uint64_t value = 0;
  if (at > 0) {
    const std::uint64_t bytes =
        text.size() > kAtOnce ? load<std::uint64_t>(begin) : load_few(begin, at);
    if (!append_digits(value, (bytes << 8 * (kAtOnce - at)) | (kZeros >> 8 * at))) {
      return false;
    }
  }
  for (; at < text.size(); at += kAtOnce) {
    if (!append_digits(value, load<std::uint64_t>(begin + at))) {
      return false;
    }
  }
  number = value;
  return true;
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
