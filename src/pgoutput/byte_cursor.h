// What PostgreSQL's messages are made of: text/byte_cursor.h with big-endian integers.
//
// Source: PostgreSQL's "Message Data Types".
#pragma once

#include <cstdint>

#include "text/byte_cursor.h"

namespace cuckooguard::pgoutput {

class ByteCursor : public text::ByteCursor {
 public:
  using text::ByteCursor::ByteCursor;

  std::uint8_t u8() { return static_cast<std::uint8_t>(text::big_endian(bytes(1))); }
  std::uint16_t u16() { return static_cast<std::uint16_t>(text::big_endian(bytes(2))); }
  std::uint32_t u32() { return static_cast<std::uint32_t>(text::big_endian(bytes(4))); }
  std::uint64_t u64() { return text::big_endian(bytes(8)); }
  std::int32_t i32() { return static_cast<std::int32_t>(u32()); }
  std::int64_t i64() { return static_cast<std::int64_t>(u64()); }
};

}  // namespace cuckooguard::pgoutput
