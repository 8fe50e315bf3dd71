// What a binary log's fields are made of: text/byte_cursor.h with little-endian integers.
//
// Source: MySQL's and MariaDB's protocol documentation, "Integer Types" and "String Types"; MySQL's
// mysql::serialization, seen in recordings of 9.7.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "text/byte_cursor.h"

namespace cuckooguard::binlog {

class ByteCursor : public text::ByteCursor {
 public:
  using text::ByteCursor::ByteCursor;

  std::uint64_t integer(std::size_t width) { return text::little_endian(bytes(width)); }
  std::uint8_t u8() { return static_cast<std::uint8_t>(integer(1)); }
  std::uint16_t u16() { return static_cast<std::uint16_t>(integer(2)); }
  std::uint32_t u32() { return static_cast<std::uint32_t>(integer(4)); }
  std::uint64_t u48() { return integer(6); }
  std::uint64_t u64() { return integer(8); }

  // The protocol's "length-encoded" forms: one byte, or a marker and 2, 3 or 8 bytes. The marker of
  // NULL (251) is none.
  std::uint64_t length_encoded() {
    constexpr std::uint8_t kNull = 251;
    constexpr std::uint8_t kTwoBytes = 252;
    constexpr std::uint8_t kThreeBytes = 253;
    constexpr std::uint8_t kEightBytes = 254;
    const std::uint8_t first = u8();
    if (first < kNull) {
      return first;
    }
    switch (first) {
      case kTwoBytes:
        return integer(2);
      case kThreeBytes:
        return integer(3);
      case kEightBytes:
        return integer(8);
      default:
        fail();
        return 0;
    }
  }
  std::string_view length_encoded_text() {
    const std::uint64_t length = length_encoded();
    return bytes(length);
  }

  // Integers of variable length, as MySQL 8.3+ serializes them: as many low one bits in the first
  // byte as bytes follow it.
  //
  //     xxxxxxx0 | xxxxxx01 xxxxxxxx | ... | 11111111 and 8 bytes     (the value above the marks)
  std::uint64_t varlen() {
    const std::uint8_t first = u8();
    const auto following = static_cast<unsigned>(std::countr_one(first));
    const std::uint64_t rest = integer(following);
    if (following == 8) {
      return rest;
    }
    // The first byte gives 7 - following bits.
    return (std::uint64_t{first} >> (following + 1)) | (rest << (7 - following));
  }
  // The sign is the lowest bit, and the rest is inverted under it. Negative numbers come out as
  // huge ones.
  std::uint64_t signed_varlen() {
    const std::uint64_t value = varlen();
    return (value >> 1) ^ (0 - (value & 1));
  }
};

}  // namespace cuckooguard::binlog
