// Integers of variable length as MySQL 8.3+ serializes them: as many low one bits in the first byte
// as bytes follow it.
//
//     xxxxxxx0 | xxxxxx01 xxxxxxxx | ... | 11111111 and 8 bytes     (the value above the marks)
//
// Threads: any. Errors: the cursor's.
// Source: MySQL's mysql::serialization; seen in recordings of 9.7.
#pragma once

#include <bit>
#include <cstdint>

#include "binlog/byte_cursor.h"

namespace cuckooguard::binlog {

inline std::uint64_t read_varlen(ByteCursor& cursor) {
  const std::uint8_t first = cursor.u8();
  const auto following = static_cast<unsigned>(std::countr_one(first));
  const std::uint64_t rest = cursor.integer(following);
  if (following == 8) {
    return rest;
  }
  // The first byte gives 7 - following bits.
  return (std::uint64_t{first} >> (following + 1)) | (rest << (7 - following));
}

// The sign is the lowest bit, and the rest is inverted under it. Negative numbers come out as huge
// ones.
inline std::uint64_t read_signed_varlen(ByteCursor& cursor) {
  const std::uint64_t value = read_varlen(cursor);
  return (value >> 1) ^ (0 - (value & 1));
}

}  // namespace cuckooguard::binlog
