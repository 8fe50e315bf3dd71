// The trigger log: a table in the application's own database into which triggers write, in the
// transaction that changes a guarded row, which row that was.
//
//   cuckooguard_log(seq, mark, stream, event, v1 … v16)
//     seq      grows by one; the newest row is never removed, so that no number comes twice
//     mark     random: a row that is still there with its mark has all of its history behind it. A
//              log that was emptied, cut below it, or came with a restored copy of the database is
//              told by that alone
//     stream   "users(id)": the table and the columns whose values follow
//     event    TouchedRows::Event
//     v1 …     the identity's values, those that the condition asks for, and, if several rows can
//              have all of these, those of a key. Without affinity: each exactly as the table has
//              it. Of a column of which the condition asks no more than whether it is NULL, 1 or
//              NULL
//
// The log keeps the newest kLogRowsMax rows and removes older ones itself, by a trigger: nobody has
// to write to the database for that, and any number of guards can follow. Who has fallen further
// behind reads a snapshot.
//
// Triggers of a table: BEFORE INSERT and BEFORE UPDATE log as `seen` the rows that stand in the way
// of the new one by any of the table's unique indexes, since a REPLACE removes them without firing
// a trigger; AFTER INSERT, UPDATE and DELETE log what came and went. None says OF: `UPDATE t SET
// rowid = …` would not fire an UPDATE OF id.
//
// What fires no trigger, and is therefore not followed: a connection with
// SQLITE_DBCONFIG_ENABLE_TRIGGER off; writing to sqlite_schema; sqlite3_blob_write() into a column
// that no index has.
//
// Threads: the source's. Errors: TableTrouble, Error.
// Source: sqlite.org/lang_createtrigger.html, lang_conflict.html (REPLACE), pragma.html
// (recursive_triggers).
#pragma once

#include <chrono>
#include <cstddef>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "source/source.h"
#include "sqlite/database.h"
#include "sqlite/table.h"

namespace cuckooguard::source::sqlite {

// What keeps two rows of a SQLite table apart: its rowid, and its unique indexes.
//
// By these a REPLACE finds the rows that it removes. Those over expressions or with a WHERE are
// known by their text alone, and name no row.
//
// Threads: the source's. Errors: Error; a sentence for an index whose text is not understood.
// Source: sqlite.org/pragma.html (index_list, index_xinfo), lang_createtable.html 5 (rowid).

// The text of a unique index over expressions or with a WHERE, as SQLite's schema keeps it: what it
// compares.
//
//   CREATE UNIQUE INDEX i ON t(lower(mail), note DESC) WHERE gone IS NULL
//   ─▶ {"lower(mail)", "note"}, "gone IS NULL", {"lower", "mail", "note", "gone" …}
//
// No SQL is parsed but quotes, comments and parentheses. Comments are left out, so that a text can
// stand on a line with others.
//
// Threads: free functions. Errors: nothing for a text that is not of this form.
// Source: sqlite.org/lang_createindex.html, lang_keywords.html (quotes).
struct IndexText {
  std::vector<std::string> parts;
  std::string condition{};  // empty: all rows are in it
  std::vector<std::string>
      words{};  // of both, without quotes: among them the names of the columns that they speak of

  bool operator==(const IndexText&) const = default;
};

std::optional<IndexText> read_index_text(std::string_view create_index);

struct KeyColumn {
  std::string name;
  std::string collation;  // the index's; empty: the rowid, which is a number

  bool operator==(const KeyColumn&) const = default;
};

using UniqueKey = std::vector<KeyColumn>;

// Of all indexes over plain columns and all rows. The rowid, if there is one, comes first: under
// the name of its INTEGER PRIMARY KEY, or the one of its own names that no column has taken.
Expected<std::vector<UniqueKey>> unique_keys(const Database& database, const std::string& table);

struct UniqueText {
  IndexText index;
  std::vector<std::string> columns;  // all of which it may speak, also those that are computed
};

// Of all others.
Planned<std::vector<UniqueText>> unique_texts(const Database& database, const std::string& table);

// What a trigger log is in a database's schema: objects with their exact text, found, missed, and
// made.
//
// An object that is there with another text is as good as missing: it is of another configuration
// or another release.
//
// Threads: the caller's. Errors: Error.
// Source: sqlite.org/schematab.html (how sqlite_schema keeps a statement's text).

inline constexpr std::string_view kLogName = "cuckooguard_log";
inline constexpr int kLogRowsMax = 100'000;
inline constexpr std::size_t kLogValuesMax = 16;

// The log's column for the n-th value, from 0.
std::string log_place(std::size_t n);

struct LogObject {  // of the database's schema
  bool is_table = false;
  std::string name;
  std::string sql;  // as sqlite_schema has it, if it is the one
};

// What all tables share: the log and what keeps it short. First the table.
std::vector<LogObject> log_objects();

// Those of `wanted` that are not in the schema, or are there with another text.
Expected<std::vector<LogObject>> missing_objects(const Database& database,
                                                 const std::vector<LogObject>& wanted);

// Statements that make them, and first remove what stands there under their names.
std::string creation_sql(const std::vector<LogObject>& objects);

struct LoggedValue {
  std::string column;
  bool is_nullness = false;  // whether it is NULL is all that is logged
};

struct LoggedTable {
  TablePlan plan;
  std::vector<UniqueKey> keys;
  std::vector<UniqueText> texts;    // of the unique indexes that are no keys
  UniqueKey key;                    // one of them, by which a row is found again
  bool identity_is_unique = false;  // a key lies within the identity
  std::vector<LoggedValue> values;  // those of plan first, in the order in which Row reads them

  std::string stream() const;
  std::vector<LogObject> triggers() const;
  // Parameters: seq from which on, stream. Columns: the values, then the event, then whether there
  // is such a row now.
  std::string changes_sql() const;
};

Planned<LoggedTable> plan_logged_table(const Database& database,
                                       const Target& target,
                                       const std::string& table);

// How a trigger log comes into a database: by the operator, who is given the SQL, or by the guard,
// if it is told to. Install waits for other writers. Nothing that is there already and right is
// touched.

// What these targets' tables need and the database does not have.
Planned<std::vector<LogObject>> missing_log(const Database& database,
                                            std::span<const Target> targets);

// In one transaction. A busy error: another time.
Done install_trigger_log(const std::string& path,
                         std::span<const Target> targets,
                         std::chrono::milliseconds patience);

// What the installing would run, for the operator to read and run: with sqlite3, or in a migration.
std::expected<std::string, std::vector<Refusal>> trigger_log_sql(const std::string& path,
                                                                 std::span<const Target> targets);

// What to do about a log that is not there.
std::string how_to_install(std::string_view path);

}  // namespace cuckooguard::source::sqlite
