// How many bytes a DECIMAL takes: nine digits in four, what is left over in as few as can hold it,
// and the integer and the fraction by themselves.
//
// Threads: any. Limits: kDecimalDigitsMax, the servers' own.
// Source: MySQL's "Fixed-Point Types" page, decimal storage.
#pragma once

#include <array>
#include <cstddef>

namespace cuckooguard::binlog {

inline constexpr std::size_t kDecimalDigitsMax = 65;
inline constexpr std::size_t kDigitsPerGroup = 9;
inline constexpr std::size_t kGroupBytes = 4;
// By number of digits: the bytes of a group.
inline constexpr std::array<std::size_t, kDigitsPerGroup + 1> kBytesOfDigits = {
    0, 1, 1, 2, 2, 3, 3, 4, 4, 4};

constexpr std::size_t decimal_bytes(std::size_t precision, std::size_t scale) {
  const std::size_t integer = precision - scale;
  return integer / kDigitsPerGroup * kGroupBytes + kBytesOfDigits[integer % kDigitsPerGroup] +
         scale / kDigitsPerGroup * kGroupBytes + kBytesOfDigits[scale % kDigitsPerGroup];
}

}  // namespace cuckooguard::binlog
