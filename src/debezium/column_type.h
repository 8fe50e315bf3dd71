// What a column's values are in Debezium's JSON, and which key placeholders they may serve.
//
// A message with its schema says it: Kafka Connect's type and, for most, a semantic name. Without
// one, a JSON number or boolean is what it looks like, but a string may be a text, bytes or a
// decimal in base64, or a number: then the operator must say which (declared_type()).
//
//   in the schema                                text for the key         placeholders
//   int8 … int64                                 the number               :uint64 :int64
//   string                                       as it is                 see below
//   …data.Enum                                   the label                as a string
//   …data.Uuid                                   as it is                 :uuid
//   bytes                                        PostgreSQL: `\x` and     :bytea
//                                                hexadecimal digits
//                                                MySQL, MariaDB: the      {name} |ci
//                                                bytes
//                                                MySQL, MariaDB, Oracle: :uuid
//                                                16 bytes as a UUID
//   …connect.data.Decimal, …VariableScaleDecimal with its scale, 1.10     :numeric, :int64; :uint64
//                                                                         without a fraction
//   …time.Date, …connect.data.Date, …IsoDate     YYYY-MM-DD               :date
//   boolean                                      PostgreSQL: t, f; else   none, conditions only
//                                                1, 0
//   all other times, timestamps, intervals, floating-point numbers, …Bits, …EnumSet, …Json, …Xml,
//   year, geometry, arrays, maps, structs        none                     none, IS NULL only
//
// No message tells how a database compares a text. MySQL, MariaDB and SQL Server take several texts
// for one by default, so {name} needs Column::compares_bytes; else |ci. PostgreSQL and Oracle
// compare bytes, unless the column is CHAR, citext or of a nondeterministic collation. With the
// connector's `column.propagate.source.type` the schema has the database's type, and CHAR and
// citext need |ci; without it, a text that ends with a blank, as CHAR does, is refused under
// {name}.
//
// Plain strings in the schema, and therefore for the operator to declare, are also bytes with a
// binary.handling.mode other than `bytes`, decimals with decimal.handling.mode=string, and types
// such as PostgreSQL's INET; column.propagate.source.type shows the last ones. Decimals with
// decimal.handling.mode=double have lost digits, and are refused. Without
// bigint.unsigned.handling.mode=precise a BIGINT UNSIGNED from 2^63 arrives as negative, which is
// refused under :uint64.
//
// Threads: free functions without state. Errors: words that go on from a column's name, without its
// values.
// Source: Debezium 3, "Data type mappings" of each connector; Kafka's ConnectSchema, JsonConverter.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "debezium/position.h"
#include "keyspace/key_template.h"

namespace cuckooguard::debezium {

enum class Encoding : std::uint8_t {
  untold,            // no schema, and none is declared
  integer,           // a JSON number
  text,              // a string
  uuid,              // a string
  label,             // a string, of an enumeration
  bytes,             // base64
  bytes_url,         // base64 with - and _: binary.handling.mode=base64-url-safe
  bytes_hex,         // binary.handling.mode=hex
  decimal,           // base64 of the unscaled value, or a JSON number (decimal.format=NUMERIC)
  variable_decimal,  // {"scale":2,"value":"…"}
  decimal_text,      // a string: decimal.handling.mode=string
  days,              // since 1970-01-01
  iso_date,          // 2026-11-29Z
  boolean,
  opaque,  // something else, whose text is not known
};

struct ColumnType {
  Encoding encoding = Encoding::untold;
  std::int32_t scale = 0;      // of decimal
  bool needs_folding = false;  // the database's type is known, and finds a text by several
  std::string name{};          // as the schema has it, for words; empty: there is no schema

  bool operator==(const ColumnType&) const = default;
};

// A column that is asked for.
struct Column {
  std::string name;                                 // as the messages have it
  std::vector<keyspace::ValueType> placeholders{};  // that it serves; none: only a condition
  bool is_compared = false;                         // by a condition, other than IS [NOT] NULL
  bool compares_bytes = false;  // the operator says that equal texts have equal bytes
  bool swaps_uuids = false;     // of 16 bytes, in the order of MySQL's UUID_TO_BIN(uuid, 1)
  std::optional<ColumnType> declared{};
};

// `integer`, `string`, `uuid`, `enum`, `bytes`, `base64`, `base64-url-safe`, `hex`, `decimal(2)`,
// which has its scale, `decimal text`, `variable decimal`, `date`, `iso date`, `boolean`.
std::optional<ColumnType> declared_type(std::string_view text);

// What a schema says of a column, as strings; empty: nothing.
struct SchemaField {
  std::string_view type;         // `int64`
  std::string_view name;         // `io.debezium.time.Date`
  std::string_view scale;        // parameter of Decimal
  std::string_view source_type;  // parameter __debezium.source.column.type, as `VARCHAR`
};

// The type that counts: what the schema says, refined by what is declared (a string may be
// anything), or what is declared alone. An error where the two contradict.
std::expected<ColumnType, std::string> type_of(const Column& column,
                                               const std::optional<SchemaField>& field);

// Why values of this type are not for what the column is asked for; nothing: they are.
std::optional<std::string> unsuitable(const Column& column,
                                      const ColumnType& type,
                                      Connector connector);

}  // namespace cuckooguard::debezium
