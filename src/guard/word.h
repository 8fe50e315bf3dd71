// Names of options and subcommands, as Redis compares them: ASCII letters in any case.
//
// Called by: whoever reads a command's arguments. Threads: pure function. Errors: none.
#pragma once

#include <algorithm>
#include <string_view>

namespace cuckooguard::guard {

constexpr char to_lower_ascii(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// `lower` has no upper case letters.
constexpr bool is_word(std::string_view argument, std::string_view lower) {
  return std::ranges::equal(argument, lower, [](char a, char b) { return to_lower_ascii(a) == b; });
}

}  // namespace cuckooguard::guard
