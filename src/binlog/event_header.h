// What every event of a binary log begins and may end with: 19 bytes of header, 4 bytes of CRC32.
//
// Threads: any.
// Errors: `truncated` (no whole header), `length_mismatch`, `checksum_mismatch`.
// Source: MySQL's "Event Header" page; the checksum is zlib's crc32 of all bytes before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string_view>

namespace cuckooguard::binlog {

// Why bytes of a binary log could not be decoded. The follower always reacts in the same way:
// nothing behind the event can be trusted, so it reconnects, and reads the tables again if that
// does not help.
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

// A binary log file begins with these bytes; a dump connection does not.
inline constexpr std::string_view kFileMagic{
    "\xfe"
    "bin"};
inline constexpr std::size_t kEventHeaderBytes = 19;
inline constexpr std::size_t kChecksumBytes = 4;

enum class EventType : std::uint8_t {
  query = 2,
  stop = 3,
  rotate = 4,
  intvar = 5,
  append_block = 9,
  delete_file = 11,
  rand = 13,
  user_var = 14,
  format_description = 15,
  xid = 16,
  begin_load_query = 17,
  execute_load_query = 18,
  table_map = 19,
  write_rows_v1 = 23,
  update_rows_v1 = 24,
  delete_rows_v1 = 25,
  incident = 26,
  heartbeat = 27,
  ignorable = 28,
  rows_query = 29,
  write_rows = 30,
  update_rows = 31,
  delete_rows = 32,
  mysql_gtid = 33,
  mysql_anonymous_gtid = 34,
  mysql_previous_gtids = 35,
  mysql_transaction_context = 36,
  mysql_view_change = 37,
  xa_prepare = 38,
  mysql_partial_update_rows = 39,
  mysql_transaction_payload = 40,
  mysql_heartbeat_v2 = 41,
  mysql_gtid_tagged = 42,
  mariadb_annotate_rows = 160,
  mariadb_binlog_checkpoint = 161,
  mariadb_gtid = 162,
  mariadb_gtid_list = 163,
  mariadb_start_encryption = 164,
  mariadb_query_compressed = 165,
  mariadb_write_rows_compressed_v1 = 166,
  mariadb_update_rows_compressed_v1 = 167,
  mariadb_delete_rows_compressed_v1 = 168,
  mariadb_write_rows_compressed = 169,
  mariadb_update_rows_compressed = 170,
  mariadb_delete_rows_compressed = 171,
};

struct EventHeader {
  static constexpr std::uint16_t kInUse = 0x01;  // of a format description: the file is not closed
  static constexpr std::uint16_t kArtificial = 0x20;  // made for this connection, in no file
  static constexpr std::uint16_t kIgnorable = 0x80;   // may be skipped if its type is unknown

  // Seconds since 1970, by the server's clock, of the statement's beginning.
  std::uint32_t timestamp = 0;
  EventType type = EventType::stop;
  std::uint32_t server_id = 0;
  std::uint32_t event_bytes = 0;  // of the whole event, its checksum included
  // The low 32 bits of the place in the file where the next event begins: a file may be larger than
  // 4 GiB, and inside a transaction payload it is 0. For a position, count `event_bytes` from the
  // last Rotate on.
  std::uint32_t next_position_low32 = 0;
  std::uint16_t flags = 0;

  bool is_artificial() const { return (flags & kArtificial) != 0; }
  bool is_ignorable() const { return (flags & kIgnorable) != 0; }
};

enum class ChecksumAlgorithm : std::uint8_t { none = 0, crc32 = 1 };

// The header at the front of `bytes`, which may go on behind the event. The event's length is at
// least the header's.
std::expected<EventHeader, DecodeError> read_event_header(std::string_view bytes);

// What lies between the header and the checksum of `event`, once the checksum has been found right.
std::expected<std::string_view, DecodeError> checked_body(const EventHeader& header,
                                                          std::string_view event,
                                                          ChecksumAlgorithm algorithm);

}  // namespace cuckooguard::binlog
