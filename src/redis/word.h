// Names of options and subcommands, as Redis compares them: ASCII letters in any case; and its
// digits.
//
// Threads: pure function.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>

namespace cuckooguard::redis {

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Of ASCII letters.
constexpr char lower_case(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// `lower` has no upper case letters.
constexpr bool is_word(std::string_view argument, std::string_view lower) {
  return std::ranges::equal(argument, lower, [](char a, char b) { return lower_case(a) == b; });
}
constexpr bool is_any_of(std::string_view argument, std::span<const std::string_view> words) {
  return std::ranges::any_of(words,
                             [argument](std::string_view word) { return is_word(argument, word); });
}

}  // namespace cuckooguard::redis
