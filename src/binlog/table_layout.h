// The columns of a table as a TABLE_MAP announces them: what is needed to walk its rows, and what
// the server's binlog_row_metadata lets it say beside.
//
//     NO_LOG (MariaDB's default)   types only: signedness, names and collations are unknown
//     MINIMAL (MySQL's default)    and signedness, collations
//     FULL                         and names, the primary key
//
// Threads: one.
// Lifetimes: the layout keeps a copy of the map; names and spans view it.
// Errors: `truncated`; `malformed`, also for a column type that cannot be skipped; `old_temporal`:
//   MariaDB's columns made with mysql56_temporal_format=OFF, or before 10.1, are wider with a
//   fraction, and the map does not say if they have one: every value behind could be misread. ALTER
//   TABLE ... FORCE converts them.
// Limits: kColumnsMax columns (event_bodies.h).
// Source: MySQL's "Table_map_event" page; differences of MariaDB's collations as recorded from
//   10.11.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "binlog/byte_cursor.h"
#include "binlog/event.h"
#include "binlog/event_header.h"

namespace cuckooguard::binlog {

// How many bytes a DECIMAL takes: nine digits in four, what is left over in as few as can hold it,
// and the integer and the fraction by themselves.
// Source: MySQL's "Fixed-Point Types" page, decimal storage.
inline constexpr std::size_t kDecimalDigitsMax = 65;  // the servers' own limit
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

// How a value of each column type lies in a row image: how long it is, and what its table map says
// about it.
//
// Threads: any.
// Errors: `unsupported`: a type whose values cannot even be skipped. Refused is MySQL's TYPED_ARRAY
//   (20), which belongs to the hidden column of a multi-valued index and is never logged (recorded
//   from 9.7).
// Source: MySQL's "Table_map_event" type table; MariaDB's own types as recorded from 10.11.
enum class ColumnType : std::uint8_t {
  decimal_old = 0,
  int8 = 1,
  int16 = 2,
  int32 = 3,
  float4 = 4,
  float8 = 5,
  null = 6,
  timestamp_old = 7,
  int64 = 8,
  int24 = 9,
  date = 10,
  time_old = 11,
  datetime_old = 12,
  year = 13,
  new_date = 14,
  varchar = 15,
  bit = 16,
  timestamp = 17,
  datetime = 18,
  time = 19,
  typed_array = 20,
  mariadb_blob_compressed = 140,
  mariadb_varchar_compressed = 141,
  vector = 242,
  json = 245,
  decimal = 246,
  enumeration = 247,
  set = 248,
  tiny_blob = 249,
  medium_blob = 250,
  long_blob = 251,
  blob = 252,
  var_string = 253,
  string = 254,
  geometry = 255,
};

// Bytes of metadata that a table map has for the type.
std::optional<std::size_t> metadata_bytes(ColumnType type);

// A column's type with what its metadata says.
struct ColumnShape {
  // `string` is resolved: enumeration and set come as themselves.
  ColumnType type = ColumnType::null;
  std::uint16_t length = 0;  // of string and varchar: most bytes; decimal: precision; bit: bits
  std::uint8_t scale = 0;  // decimal; digits of a second's fraction in a time, datetime, timestamp

  bool operator==(const ColumnShape&) const = default;
};

// A value is `prefix_bytes` of length and as many bytes as they say, or, without a prefix,
// `fixed_bytes`.
struct ColumnStorage {
  std::uint8_t prefix_bytes = 0;
  std::uint16_t fixed_bytes = 0;
};

struct ResolvedColumn {
  ColumnShape shape;
  ColumnStorage storage;
};

// `metadata` is as it lies in the table map, little-endian. Nothing: no server writes that.
std::optional<ResolvedColumn> resolve_column(ColumnType type, std::uint16_t metadata);

// Whether the table map's bitmap of signedness has a bit for it.
bool has_signedness(ColumnType type);

// Whether the table map's list of collations has an entry for it. The servers differ in which types
// they list.
bool has_collation(ColumnType type, bool is_mariadb);

struct Column {
  // The collation of BINARY, VARBINARY, BLOB, and of types of MariaDB's that look like them.
  static constexpr std::uint32_t kBinaryCollation = 63;

  ColumnShape shape;
  ColumnStorage storage;
  bool is_nullable = false;
  std::optional<bool> is_unsigned;         // of types that have a sign
  std::optional<std::uint32_t> collation;  // of types that have one
  std::string_view name;                   // empty: unknown
};

struct PrimaryKeyPart {
  std::uint32_t column = 0;
  std::uint64_t prefix = 0;  // in characters; 0: the whole column

  bool operator==(const PrimaryKeyPart&) const = default;
};

class TableLayout {
 public:
  static std::expected<TableLayout, DecodeError> parse(const TableMap& map, bool is_mariadb);

  TableLayout(TableLayout&&) = default;
  TableLayout& operator=(TableLayout&&) = default;
  TableLayout(const TableLayout&) = delete;
  TableLayout& operator=(const TableLayout&) = delete;
  ~TableLayout() = default;

  bool is_same(const TableMap& map) const { return map.body == body(); }

  std::string_view schema() const { return schema_; }
  std::string_view table() const { return table_; }
  std::span<const Column> columns() const { return columns_; }
  // Empty: unknown, or there is none.
  std::span<const PrimaryKeyPart> primary_key() const { return primary_key_; }

 private:
  TableLayout() = default;

  std::string_view body() const { return {bytes_.data(), bytes_.size()}; }
  std::expected<void, DecodeError> read(bool is_mariadb);
  std::expected<void, DecodeError> read_columns(ByteCursor& cursor, bool is_mariadb);
  std::expected<void, DecodeError> read_details(ByteCursor& cursor, bool is_mariadb);
  bool read_signedness(std::string_view value);
  bool read_default_collation(std::string_view value, bool is_mariadb);
  bool read_collations(std::string_view value, bool is_mariadb);
  bool read_names(std::string_view value);
  bool read_primary_key(std::string_view value, bool has_prefixes);
  std::vector<Column*> columns_with_collation(bool is_mariadb);

  std::vector<char> bytes_;  // the map's body; a vector, so that a move leaves the views right
  std::string_view schema_;
  std::string_view table_;
  std::vector<Column> columns_;
  std::vector<PrimaryKeyPart> primary_key_;
};

}  // namespace cuckooguard::binlog
