// A column of a PostgreSQL table as its catalog has it, and what it cannot be used for.
//
// Refused, each with the fix: a type of which SQL finds a row by more than one spelling, unless the
// placeholder knows them. smallint, integer, bigint need :uint64 or :int64; text, varchar and enums
// are compared byte by byte, unless their collation is nondeterministic; char(n) is found with and
// without blanks at its end and needs |ci, as citext does; uuid, numeric, date, bytea need the
// placeholder of their name; boolean, floating point, time stamps, arrays are not possible. Domains
// are what they are made of. Text of a database in EUC_JP needs |ci, too: the server takes two
// characters that clients write for one.
//
// Of any type the text in a COPY and in the log is the same: both are its output function's.
//
// Threads: free functions. Errors: a sentence for the operator.
// Source: PostgreSQL 15's pg_type, pg_collation; notes on reach, E.1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "keyspace/key_template.h"
#include "keyspace/row_condition.h"

namespace cuckooguard::source {

enum class PostgresType : std::uint8_t {
  integer,
  text,          // and enums
  blended_text,  // the same, in an encoding that blends_characters()
  padded_text,   // char(n)
  folded_text,   // citext
  uuid,
  numeric,
  date,
  bytea,
  boolean,
  composite,  // SQL takes one whose fields are all NULL for NULL, and the log does not
  other,
};

struct PostgresColumn {
  std::string name;
  std::string type_name;         // format_type(): `character varying(36)`
  std::uint32_t type_oid = 0;    // of a domain its base type
  std::uint32_t logged_oid = 0;  // as a Relation message has it
  std::int32_t modifier = -1;    // atttypmod, as a Relation message has it
  PostgresType type = PostgresType::other;
  bool nullable = true;
  bool is_deterministic = true;  // its collation
  bool grows = false;            // GENERATED … AS IDENTITY, or a sequence is its default
  bool is_generated = false;     // stored, and published
  std::size_t replica_key = 0;   // place in the replica identity, from 1; 0: not part of it

  bool operator==(const PostgresColumn&) const = default;
};

// Of a type that is no domain.
PostgresType postgres_type(std::uint32_t oid, char kind, std::string_view name);

// The server takes two characters of UTF-8 for one, and gives it back as the second: U+00A6 and
// U+FFE4 (broken bars) of EUC_JP. No other encoding that a database can have does so: all of
// PostgreSQL 15's were asked for all characters (integration/postgres_tables_test.cpp).
bool blends_characters(std::string_view server_encoding);

// Why it cannot be a part of keys, whatever the placeholder is.
std::optional<std::string> unreadable(const PostgresColumn& column);

// The same, or why SQL could find a row by a value that the filter has under other bytes.
std::optional<std::string> ambiguous(const PostgresColumn& column,
                                     const keyspace::Placeholder& placeholder);

// Why the guard and SQL could disagree on what a condition asks of it.
std::optional<std::string> undecidable(const PostgresColumn& column,
                                       const keyspace::ColumnUse& use);

}  // namespace cuckooguard::source
