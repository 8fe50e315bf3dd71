// How a value of each column type lies in a row image: how long it is, and what its table map says
// about it.
//
// Threads: any.
// Errors: `unsupported`: a type whose values cannot even be skipped. Refused is MySQL's TYPED_ARRAY
//   (20), which belongs to the hidden column of a multi-valued index and is never logged (recorded
//   from 9.7).
// Source: MySQL's "Table_map_event" type table; MariaDB's own types as recorded from 10.11.
#pragma once

#include <cstdint>
#include <optional>

namespace cuckooguard::binlog {

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
  ColumnType type =
      ColumnType::null;      // `string` is resolved: enumeration and set come as themselves
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

}  // namespace cuckooguard::binlog
