// The integer that a text is equal to where SQL compares it with a number: both as doubles, of the
// text as much as is one. `007` is 7, `7abc` too, and a word is 0.
//
// Threads: free function without state.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cuckooguard::keyspace {

struct EqualInteger {
  std::optional<std::string> text{};  // canonical; nothing: it is equal to none
  bool is_known = true;               // else it is equal to several, or may be
};
EqualInteger equal_integer(std::string_view text);

}  // namespace cuckooguard::keyspace
