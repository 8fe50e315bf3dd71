// UTF-8 as Unicode defines it: no overlong forms, no surrogates, nothing above U+10FFFF.
//
// Threads: free functions.
#pragma once

#include <cstddef>
#include <string_view>

#include <boost/locale/utf.hpp>

namespace cuckooguard::text {

// The number of bytes of the character at the front of `text`, which is not empty; 0 if it does not
// begin with one. NUL is a character of one byte.
inline std::size_t utf8_character_bytes(std::string_view text) {
  const auto* end = text.begin();
  const auto character = boost::locale::utf::utf_traits<char>::decode(end, text.end());
  return boost::locale::utf::is_valid_codepoint(character)
             ? static_cast<std::size_t>(end - text.begin())
             : 0;
}

inline bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t bytes = utf8_character_bytes(text);
    if (bytes == 0) {
      return false;
    }
    text.remove_prefix(bytes);
  }
  return true;
}

}  // namespace cuckooguard::text
