// Names of options and subcommands, as Redis compares them: ASCII letters in any case; and its
// digits.
//
// Threads: pure function.
#pragma once

#include <algorithm>
#include <string_view>

namespace cuckooguard::redis {

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Only for ASCII letters.
constexpr char lower_case(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// `lower` has no upper case letters.
constexpr bool is_word(std::string_view argument, std::string_view lower) {
  return std::ranges::equal(argument, lower, [](char a, char b) { return lower_case(a) == b; });
}

// Calls take(word) for each word of a list, as tables have them.
template <class Take>
constexpr void for_each_word(std::string_view words, Take take, char separator = ' ') {
  while (!words.empty()) {
    const std::string_view word = words.substr(0, words.find(separator));
    take(word);
    words.remove_prefix(std::min(words.size(), word.size() + 1));
  }
}
constexpr bool is_any_of(std::string_view argument, std::string_view words, char separator = ' ') {
  bool is_one = false;
  for_each_word(
      words, [&](std::string_view word) { is_one = is_one || is_word(argument, word); }, separator);
  return is_one;
}

}  // namespace cuckooguard::redis
