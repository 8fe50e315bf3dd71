// Writes one stored value as the text that the server's text protocol gives for it: a row from the
// log and the same row from a SELECT become the same identity, byte for byte.
//
// Some have that text only where the SELECT is made for it, which is good enough to tell rows by
// (the caller refuses them as identities): TIMESTAMP in UTC, ENUM, SET and BIT as CAST(... AS
// UNSIGNED) gives them. What is not here has none: FLOAT's digits are the client library's, and so
// on. The caller refuses what a table map does not tell: ZEROFILL, YEAR(2), MariaDB's UUID and INET
// types, which look like BINARY here and are not, and a session with sql_mode
// PAD_CHAR_TO_FULL_LENGTH.
//
// Threads: any. Lifetimes: the text views the value or the scratch bytes given.
// Errors: `malformed`.
// Source: MySQL's "Data Type Storage Requirements" and "Date and Time Data Type Representation";
//   checked against SELECT in tests/binlog/recorded and integration/mariadb_keys_test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string_view>

#include "binlog/decode_error.h"

namespace cuckooguard::binlog {

enum class TextForm : std::uint8_t {
  none,
  bytes,        // CHAR without its trailing blanks, VARCHAR, VARBINARY: as it is
  zero_padded,  // BINARY: the log leaves out trailing zeros
  signed_int,
  unsigned_int,
  big_endian,  // BIT: an unsigned integer, its first byte the highest
  decimal,
  date,
  year,
  datetime,
  timestamp,  // in UTC
  time,
};

struct TextRule {
  TextForm form = TextForm::none;
  std::uint16_t length = 0;  // zero_padded: bytes; decimal: digits
  std::uint8_t scale = 0;    // digits behind the point

  // What `write_text` may need of scratch.
  std::size_t scratch_bytes() const;
};

std::expected<std::string_view, DecodeError> write_text(const TextRule& rule,
                                                        std::string_view value,
                                                        char* scratch);

}  // namespace cuckooguard::binlog
