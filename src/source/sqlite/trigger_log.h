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
// Threads: the source's. Errors: TableTrouble, SqliteError.
// Source: sqlite.org/lang_createtrigger.html, lang_conflict.html (REPLACE), pragma.html
// (recursive_triggers).
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "source/source.h"
#include "sqlite/database.h"
#include "sqlite/log_objects.h"
#include "sqlite/table.h"
#include "sqlite/unique_keys.h"

namespace cuckooguard::source {

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
  std::vector<LoggedValue>
      values;  // those of plan first, in the order in which SqliteRow reads them

  std::string stream() const;
  std::vector<LogObject> triggers() const;
  // Parameters: seq from which on, stream. Columns: the values, then the event, then whether there
  // is such a row now.
  std::string changes_sql() const;
};

std::expected<LoggedTable, TableTrouble> plan_logged_table(const SqliteDatabase& database,
                                                           const Target& target,
                                                           const std::string& table);

}  // namespace cuckooguard::source
