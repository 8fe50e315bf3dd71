// Why bytes of a binary log could not be decoded. The follower always reacts in the same way:
// nothing behind the event can be trusted, so it reconnects, and reads the tables again if that
// does not help.
//
// Threads: any.
#pragma once

#include <cstdint>
#include <string_view>

namespace cuckooguard::binlog {

enum class DecodeError : std::uint8_t {
  length_mismatch,        // the event's header speaks of more or fewer bytes than there are
  checksum_mismatch,      // the CRC32 trailer says the bytes are not those that the server wrote
  no_format_description,  // an event that needs one came before it
  unsupported_format,     // a format description unlike that of MariaDB 10.5+ and MySQL 8+
  truncated,              // a field reaches beyond the event
  trailing_bytes,         // bytes are left where there should be none
  malformed,              // a field has a value that no server writes
  too_large,              // decompressed, it is beyond the caller's limit
  decompression_failed,   // no zlib or zstd stream, or one of another length than announced
  unknown_table,          // rows of a table without a map in this transaction, or of another width
  old_temporal,           // MariaDB: a temporal column of before 10.1 (table_layout.h)
  no_text_form,           // a chosen column has a type whose text cannot be told from the log
  signedness_unknown,     // of a chosen integer column, by the log and by the caller
  charset_unknown,        // whether a chosen column is CHAR or BINARY
  no_such_column,         // a chosen column is beyond the table's last
};

// As a part of a sentence: "the checksum does not match".
std::string_view describe(DecodeError error);

}  // namespace cuckooguard::binlog
