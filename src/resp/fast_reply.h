// Replies of the usual kinds that are all there, read the quick way: strings, short lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "resp/fast_line.h"

namespace cuckooguard::resp {

// Where the string at `at` ends, null if it is not all there.
inline const char* fast_text_end(const char* at, const char* end, bool& is_null) {
  constexpr std::string_view kNull = "$-1\r\n";
  std::uint32_t length = 0;
  const char* const text = read_fast_line(at, end, length);
  if (text == nullptr) {
    is_null = std::string_view(at, end).starts_with(kNull);
    return is_null ? at + kNull.size() : nullptr;
  }
  const bool is_there =
      end - text >= std::ptrdiff_t{length} + 2 && text[length] == '\r' && text[length + 1] == '\n';
  return is_there ? text + length + 2 : nullptr;
}

// Where the short line at `at` ends: most of them are shorter than what makes memchr worth its
// call.
inline const char* fast_line_end(const char* at, const char* end) {
  constexpr std::ptrdiff_t kBytesMax = 16;
  const char* const last = end - at > kBytesMax ? at + kBytesMax : end;
  for (++at; at != last; ++at) {
    if (*at == '\n') {
      return at[-1] == '\r' ? at + 1 : nullptr;
    }
  }
  return nullptr;
}

}  // namespace cuckooguard::resp
