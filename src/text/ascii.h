// Bytes of ASCII, whatever the locale is. All others are no letters, and have no case.
//
// Threads: pure functions.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace cuckooguard::text {

constexpr bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}
constexpr bool is_lower(char c) noexcept {
  return c >= 'a' && c <= 'z';
}
constexpr bool is_upper(char c) noexcept {
  return c >= 'A' && c <= 'Z';
}
constexpr bool is_letter(char c) noexcept {
  return is_lower(c) || is_upper(c);
}
constexpr bool is_alphanumeric(char c) noexcept {
  return is_letter(c) || is_digit(c);
}
constexpr bool is_printable(char c) noexcept {
  return c >= ' ' && c <= '~';
}
constexpr char to_lower(char c) noexcept {
  return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c;
}
constexpr char to_upper(char c) noexcept {
  return is_lower(c) ? static_cast<char>(c - 'a' + 'A') : c;
}

inline std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), to_lower);
  return lower;
}
inline std::string upper_case(std::string_view text) {
  std::string upper(text);
  std::ranges::transform(upper, upper.begin(), to_upper);
  return upper;
}

constexpr bool equals_in_any_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, to_lower, to_lower);
}

}  // namespace cuckooguard::text
