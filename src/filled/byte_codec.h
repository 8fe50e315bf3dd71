// Numbers and texts as bytes: of operations in a log, and of dumps. Numbers are little-endian, a
// text has its length before it. They are read as text/byte_cursor.h says.
//
// Threads: any, on different ones. Lifetimes: a reader is a view.
// Limits: a text has less than 2^32 bytes, but for long ones. Source: none; this program writes and
//   reads it.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "text/byte_cursor.h"

namespace cuckooguard::filled {

template <std::unsigned_integral T>
void put(std::string& out, T value) {
  for (unsigned i = 0; i < sizeof(T); ++i) {
    out.push_back(static_cast<char>((std::uint64_t{value} >> (8 * i)) & 0xFF));
  }
}
inline void put_text(std::string& out, std::string_view text) {
  put(out, static_cast<std::uint32_t>(text.size()));
  out.append(text);
}
inline void put_long_text(std::string& out, std::string_view text) {
  put(out, static_cast<std::uint64_t>(text.size()));
  out.append(text);
}

class ByteReader : public text::ByteCursor {
 public:
  using text::ByteCursor::ByteCursor;

  template <std::unsigned_integral T>
  T take() {
    return static_cast<T>(text::little_endian(bytes(sizeof(T))));
  }
  std::string_view take_text() { return bytes(take<std::uint32_t>()); }
  std::string_view take_long_text() { return bytes(take<std::uint64_t>()); }
};

}  // namespace cuckooguard::filled
