// Reads the bodies of single event types, the bytes between header and checksum.
//
// Threads: any. Lifetimes: views into the body. Errors: DecodeError.
// Limits: kColumnsMax columns in a table, both servers' own limit.
// Source: MySQL's and MariaDB's protocol documentation.
#pragma once

#include <cstddef>
#include <expected>
#include <string_view>

#include "binlog/event.h"

namespace cuckooguard::binlog {

inline constexpr std::size_t kColumnsMax = 4096;

using BodyResult = std::expected<EventBody, DecodeError>;

// Version 1 has no extra row information.
enum class RowsVersion : std::uint8_t { v1, v2, partial };

std::expected<FormatDescription, DecodeError> read_format_description(std::string_view body);
BodyResult read_rotate(std::string_view body);
BodyResult read_table_map(std::string_view body);
BodyResult read_rows(RowsKind kind, RowsVersion version, std::string_view body);
BodyResult read_query(std::string_view body);
BodyResult read_execute_load_query(std::string_view body);
BodyResult read_commit(std::string_view body);
BodyResult read_xa_prepare(std::string_view body);
BodyResult read_heartbeat(const EventHeader& header, std::string_view body);
BodyResult read_heartbeat_v2(std::string_view body);
BodyResult read_incident(std::string_view body);
BodyResult read_transaction_payload(std::string_view body);
BodyResult read_mariadb_gtid(const EventHeader& header, std::string_view body);
BodyResult read_mysql_gtid(bool is_anonymous, std::string_view body);
BodyResult read_mysql_gtid_tagged(std::string_view body);

}  // namespace cuckooguard::binlog
