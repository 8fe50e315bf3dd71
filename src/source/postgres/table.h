// How one namespace's rows are read from one table of PostgreSQL, and the checks that this can be
// done rightly.
//
// What is refused, each with the SQL that mends it: a table or column that is not there, a view, a
// table with heirs, a partition by itself, an unlogged or temporary one; one without a key that the
// log names deleted rows by (REPLICA IDENTITY), or whose key lacks a column that is needed here;
// row security that would hide rows; a publication that does not have it, or that leaves out rows,
// kinds of changes, or columns that keys, conditions or the log's names of rows are made of; a list
// of columns where rows are logged whole, or where a partition has them in another order; a
// partitioned table without publish_via_partition_root; columns that postgres/table.h objects to;
// `deletes: trusted` where several rows can have one identity.
//
// Threads: free functions. Errors: a sentence for the operator; Error if the server itself
// failed.
// Source: PostgreSQL 15's system catalogs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "follow/log.h"
#include "follow/row_plan.h"
#include "keyspace/key_template.h"
#include "keyspace/row_condition.h"
#include "postgres/connection.h"
#include "postgres/xid_snapshot.h"
#include "source/source.h"
#include "source/source_kind.h"

namespace cuckooguard::source::postgres {

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
enum class ColumnKind : std::uint8_t {
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

struct Column {
  std::string name;
  std::string type_name;         // format_type(): `character varying(36)`
  std::uint32_t type_oid = 0;    // of a domain its base type
  std::uint32_t logged_oid = 0;  // as a Relation message has it
  std::int32_t modifier = -1;    // atttypmod, as a Relation message has it
  ColumnKind type = ColumnKind::other;
  bool nullable = true;
  bool is_deterministic = true;  // its collation
  bool grows = false;            // GENERATED … AS IDENTITY, or a sequence is its default
  bool is_generated = false;     // stored, and published
  std::size_t replica_key = 0;   // place in the replica identity, from 1; 0: not part of it

  bool operator==(const Column&) const = default;
};

// Of a type that is no domain.
ColumnKind column_kind(std::uint32_t oid, char kind, std::string_view name);

// The server takes two characters of UTF-8 for one, and gives it back as the second: U+00A6 and
// U+FFE4 (broken bars) of EUC_JP. No other encoding that a database can have does so: all of
// PostgreSQL 15's were asked for all characters (integration/postgres_tables_test.cpp).
bool blends_characters(std::string_view server_encoding);

// Why it cannot be a part of keys, whatever the placeholder is.
std::optional<std::string> unreadable(const Column& column);

// The same, or why SQL could find a row by a value that the filter has under other bytes.
std::optional<std::string> ambiguous(const Column& column,
                                     const keyspace::Placeholder& placeholder);

// Why the guard and SQL could disagree on what a condition asks of it.
std::optional<std::string> undecidable(const Column& column, const keyspace::ColumnUse& use);

struct TablePlan : RowPlan {
  std::string schema;
  std::string name;
  std::uint32_t oid = 0;
  bool is_partitioned = false;
  std::vector<Column> columns;         // all that the log shows, in their order
  std::vector<std::uint32_t> parts{};  // oids of all below it that have rows, in their order
  bool has_full_rows = false;          // REPLICA IDENTITY FULL
  std::string fingerprint;             // fingerprints.h

  std::string full_name() const;   // as SQL writes it
  std::string select_sql() const;  // of what is needed(), in that order, without a condition
  std::string copy_sql() const;    // the same
  std::string count_sql() const;
  bool operator==(const TablePlan&) const = default;

 private:
  std::string listed() const;  // needed()
};

using TableTrouble = std::variant<std::string, Error>;
template <class T>
using Planned = std::expected<T, TableTrouble>;

inline constexpr int kListsColumns = 150000;  // a release whose publications may

// Where a source's tables are.
struct Place {
  std::string schema;
  std::string publication;
};

Planned<TablePlan> plan_table(Connection& connection,
                              const Place& place,
                              const Target& target,
                              const std::string& table);

// As the server spells them; a name for which there is no table as it is.
Planned<std::vector<std::string>> find_tables(Connection& connection,
                                              const Place& place,
                                              std::span<const std::string> wanted);

// All that this account may see.
Expected<std::vector<KeyedTable>> list_keyed_tables(Connection& connection, const Place& place);

// As the server says.
Expected<TableEstimate> size_of_table(Connection& connection, const TablePlan& plan);

// Transactions that may have written to a table (its oid) by now, and are open.
Expected<std::vector<Xid>> writers_of(Connection& connection, std::uint32_t table);

}  // namespace cuckooguard::source::postgres
