// Numbers and texts as bytes: integers of as many bytes as their type has, the lowest first, and
// texts with their length before them.
//
// Threads: any, on different ones. Lifetimes, errors: as byte_cursor.h says.
// Limits: a text has less than 2^32 bytes, but for long ones.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "text/byte_cursor.h"

namespace cuckooguard::text {

template <std::unsigned_integral T>
void put(std::string& out, T value) {
  std::array<char, sizeof(T)> bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<char>(std::uint64_t{value} >> (8 * i));
  }
  out.append(bytes.data(), bytes.size());
}
inline void put_text(std::string& out, std::string_view text) {
  put(out, static_cast<std::uint32_t>(text.size()));
  out.append(text);
}
inline void put_long_text(std::string& out, std::string_view text) {
  put(out, static_cast<std::uint64_t>(text.size()));
  out.append(text);
}

class LittleEndianCursor : public ByteCursor {
 public:
  using ByteCursor::ByteCursor;

  template <std::unsigned_integral T>
  T take() {
    return static_cast<T>(little_endian(bytes(sizeof(T))));
  }
  std::string_view take_text() { return bytes(take<std::uint32_t>()); }
  std::string_view take_long_text() { return bytes(take<std::uint64_t>()); }
};

}  // namespace cuckooguard::text
