// Names of options and subcommands, as Redis compares them: ASCII letters in any case.
//
// Threads: pure function.
#pragma once

#include <algorithm>
#include <string_view>

#include "text/ascii.h"
#include "text/words.h"

namespace cuckooguard::redis {

// `lower` has no upper case letters.
constexpr bool is_word(std::string_view argument, std::string_view lower) {
  return std::ranges::equal(argument, lower, {}, text::to_lower);
}

// Calls take(word) for each word of a list, as tables have them.
template <class Take>
constexpr void for_each_word(std::string_view words, Take take, char separator = ' ') {
  while (!words.empty()) {
    take(text::take_word(words, separator));
  }
}
constexpr bool is_any_of(std::string_view argument, std::string_view words, char separator = ' ') {
  bool is_one = false;
  for_each_word(
      words, [&](std::string_view word) { is_one = is_one || is_word(argument, word); }, separator);
  return is_one;
}

}  // namespace cuckooguard::redis
