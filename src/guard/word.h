// Names of options and subcommands, as Redis compares them: ASCII letters in any case; and its digits.
//
// Threads: pure function.
#pragma once

#include <algorithm>
#include <string_view>

#include "keyspace/identity.h"

namespace cuckooguard::guard {

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// `lower` has no upper case letters.
constexpr bool is_word(std::string_view argument, std::string_view lower) {
  return std::ranges::equal(argument, lower, [](char a, char b) { return keyspace::fold(a) == b; });
}

}  // namespace cuckooguard::guard
