#include "keyspace/canonical_text.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <utility>

#include "text/ascii.h"

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

namespace {

using text::is_digit;

bool is_hexadecimal(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f');
}

// An `x` of the form stands for one of these, any other byte for itself.
bool has_form(std::string_view text, std::string_view form, bool (*is_one)(char)) {
  return std::ranges::equal(
      text, form, [is_one](char c, char place) { return place == 'x' ? is_one(c) : c == place; });
}

bool is_date(std::string_view text) {
  if (!has_form(text, "xxxx-xx-xx", is_digit)) {
    return false;
  }
  const auto number = [text](std::size_t at, std::size_t digits) {
    int value = 0;
    for (const char c : text.substr(at, digits)) {
      value = value * 10 + (c - '0');
    }
    return value;
  };
  const std::chrono::year year(number(0, 4));
  const std::chrono::month month(static_cast<unsigned>(number(5, 2)));
  const std::chrono::day day(static_cast<unsigned>(number(8, 2)));
  return year > std::chrono::year(0) && (year / month / day).ok();
}

bool is_numeric(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  text.remove_prefix(is_negative ? 1 : 0);
  const std::string_view whole = text.substr(0, text.find('.'));
  const std::string_view fraction = text.substr(std::min(text.size(), whole.size() + 1));
  const bool is_whole_canonical = !whole.empty() && (whole[0] != '0' || whole.size() == 1) &&
                                  std::ranges::all_of(whole, is_digit);
  if (whole.size() == text.size()) {
    return is_whole_canonical && !(is_negative && whole == "0");
  }
  return is_whole_canonical && !fraction.empty() && fraction.back() != '0' &&
         std::ranges::all_of(fraction, is_digit);
}

bool is_bytea(std::string_view text) {
  return text.starts_with("\\x") && text.size() % 2 == 0 &&
         std::ranges::all_of(text.substr(2), is_hexadecimal);
}

}  // namespace

bool is_canonical(ValueType type, std::string_view text) noexcept {
  switch (type) {
    case ValueType::text:
    case ValueType::text_ci:
      return true;
    case ValueType::uint64:
      return canonical_uint64(text).has_value();
    case ValueType::int64:
      return canonical_int64(text).has_value();
    case ValueType::uuid:
      return has_form(text, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", is_hexadecimal);
    case ValueType::numeric:
      return is_numeric(text);
    case ValueType::date:
      return is_date(text);
    case ValueType::bytea:
      return is_bytea(text);
  }
  std::unreachable();
}

std::string_view without_scale(std::string_view numeric) noexcept {
  if (numeric.find('.') == std::string_view::npos) {
    return numeric;
  }
  const std::string_view text = numeric.substr(0, numeric.find_last_not_of('0') + 1);
  return text.substr(0, text.size() - (text.ends_with('.') ? 1 : 0));
}

EqualInteger equal_integer(std::string_view text) {
  constexpr double kExactBelow = 9007199254740992.0;  // 2^53
  constexpr double kIntegersBelow = 18446744073709551616.0;
  text.remove_prefix(std::min(text.find_first_not_of(" \t\n\v\f\r"), text.size()));
  const bool is_negative = text.starts_with('-');
  text.remove_prefix(is_negative || text.starts_with('+') ? 1 : 0);
  double number = 0;
  const bool begins = !text.empty() && (text[0] == '.' || is_digit(text[0]));
  if (begins && std::from_chars(text.data(), text.data() + text.size(), number).ec ==
                    std::errc::result_out_of_range) {
    return {.is_known = false};
  }
  if (number >= kExactBelow) {
    return {.is_known = number >= kIntegersBelow};
  }
  if (number != std::floor(number)) {
    return {};
  }
  const std::string digits = std::to_string(static_cast<std::uint64_t>(number));
  return {.text = is_negative && number > 0 ? "-" + digits : digits};
}

}  // namespace cuckooguard::keyspace
