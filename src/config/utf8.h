// UTF-8 as Unicode defines it: no overlong forms, no surrogates, nothing above U+10FFFF.
//
// Threads: free function.
#pragma once

#include <cstddef>
#include <string_view>

namespace cuckooguard::config {

// The number of bytes of the character at the front of `text`, which is not empty; 0 if there is
// none. NUL is a character of one byte.
std::size_t utf8_character_bytes(std::string_view text);

bool is_utf8(std::string_view text);

}  // namespace cuckooguard::config
