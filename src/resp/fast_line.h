// The line that nearly every value of RESP begins with, read the quick way: "$19" CRLF, "*2" CRLF.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cuckooguard::resp {

inline std::uint32_t digit_of(char byte) {
  return static_cast<std::uint32_t>(static_cast<unsigned char>(byte)) - std::uint32_t{'0'};
}

// One type byte, whatever it is, a canonical number of up to nine digits, CRLF.
// Returns where the line ends; null where [at, end) does not begin with such a line.
inline const char* read_fast_line(const char* at, const char* end, std::uint32_t& number) {
  constexpr std::ptrdiff_t kDigitsMax = 9;
  constexpr std::ptrdiff_t kBytesMin = 4;
  if (end - at < kBytesMin) {
    return nullptr;
  }
  std::uint32_t value = digit_of(at[1]);
  if (at[2] == '\r' && at[3] == '\n' && value <= 9) {
    number = value;
    return at + kBytesMin;
  }
  if (value == 0 || value > 9) {
    return nullptr;
  }
  const char* const digits_end = end - at > kDigitsMax ? at + 1 + kDigitsMax : end;
  for (at += 2; at != digits_end && digit_of(*at) <= 9; ++at) {
    value = value * 10 + digit_of(*at);
  }
  if (end - at < 2 || at[0] != '\r' || at[1] != '\n') {
    return nullptr;
  }
  number = value;
  return at + 2;
}

}  // namespace cuckooguard::resp
