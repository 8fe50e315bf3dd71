// How rows of a namespace are read from one SQLite table, and the checks that this can be done
// rightly.
//
// What is refused, each with the fix: a table or column that is not there, a view or virtual table,
// columns that do not suit (Column). A text placeholder on a column of NUMERIC affinity (declared
// as UUID, STRING, DATE, …) is right as long as no row holds a number, since text that looks like
// one would have been stored as one: then a text finds only its own bytes. That is checked per row.
//
// Errors: a sentence for the operator, or Error if the database itself failed.
// Source: sqlite.org/datatype3.html 3.1 (affinity), sqlite.org/lang_createtable.html 5 (rowid).
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "keyspace/key_template.h"
#include "keyspace/row_condition.h"
#include "source/source.h"
#include "source/source_kind.h"
#include "sqlite/database.h"

namespace cuckooguard::source::sqlite {

// A column of a SQLite table, and what it cannot be used for.
//
// Refused, each with the fix: a column of REAL affinity (its text is not canonical); a text
// placeholder on a column that compares by other rules than bytes (NOCASE or RTRIM without |ci, any
// other collation, INTEGER affinity: `id = '007'` finds row 7). In a condition: whatever SQLite
// could compare with a literal otherwise than by bytes.
// Source: sqlite.org/datatype3.html 3.1 (affinity), 4.2 (comparisons).
enum class Affinity : std::uint8_t { integer, text, blob, real, numeric };

// `strict`: of a STRICT table.
Affinity affinity_of(std::string_view declared_type, bool strict);

struct Column {
  std::string table;
  std::string name;
  std::string declared_type;
  std::string collation;  // in capitals
  int primary_key = 0;    // place in the primary key, from 1; 0: not part of it
  Affinity affinity = Affinity::blob;

  bool has_bytes() const;  // declared as BLOB or BINARY, whatever its affinity
};

// Why look-ups by this placeholder could find rows in the database that the filter has under other
// bytes.
std::optional<std::string> ambiguous(const Column& column,
                                     const keyspace::Placeholder& placeholder);

// Why the guard and SQL could disagree on what a condition asks of it.
std::optional<std::string> undecidable(const Column& column, const keyspace::ColumnUse& use);

struct PlannedColumn {
  std::string name;
  bool text_only = false;    // a number in it makes the namespace unsynced
  bool is_key_text = false;  // 16 bytes that are no text make it unsynced, too
  bool is_uuid = false;      // of 16 bytes, for a key's text; anything else makes it unsynced
};

struct ConditionColumn {
  // What its values must be, unless NULL; others make the namespace unsynced. Of `null_only` any
  // will do.
  enum class Form : std::uint8_t { null_only, text, integer };

  std::string name;
  Form form = Form::null_only;
};

struct TablePlan {
  std::string table;                   // as the schema spells it
  std::vector<PlannedColumn> columns;  // in identity order
  config::UuidOrder uuid_order = config::UuidOrder::plain;
  keyspace::RowCondition condition;  // the rows that count; decided here, not by SQLite
  std::vector<ConditionColumn> condition_columns;  // as condition.columns()
  bool grows = false;             // one INTEGER PRIMARY KEY: new rows get the next number
  bool is_autoincrement = false;  // and numbers of deleted rows are not used again

  std::string select_sql() const;  // columns, then condition_columns
  std::string count_sql() const;
  // If it grows: of all rows, those that do not count included. Of AUTOINCREMENT for a bound name.
  std::string largest_id_sql() const;
};

using TableTrouble = std::variant<std::string, Error>;
template <class T>
using Planned = std::expected<T, TableTrouble>;

Planned<TablePlan> plan_table(const Database& database,
                              const Target& target,
                              const std::string& table);

// Which tables of a SQLite database a namespace has, by its list of names and patterns.
//
// Patterns find whatever rows could come from, views and virtual tables too: that those cannot be
// read is plan_table()'s to say, since to leave them out would hide their rows. Not found are
// SQLite's own tables (sqlite_…) and the ones behind virtual tables. Case does not count, as in
// SQL.
// Source: sqlite.org/pragma.html#pragma_table_list.

// As the schema spells them; a name for which there is no table as it is.
Expected<std::vector<std::string>> list_tables(const Database& database,
                                               std::span<const std::string> wanted);

// All that rows can be read from.
Expected<std::vector<KeyedTable>> list_keyed_tables(const Database& database);

}  // namespace cuckooguard::source::sqlite
