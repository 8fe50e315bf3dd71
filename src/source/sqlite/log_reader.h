// Reads a trigger log: where it ends, whether it still has a place, and what has happened to a
// table since.
//
// Threads: the source's. Errors: TableTrouble; a sentence if the log cannot be right, or a row
// cannot be guarded: then the table is to be read again, which says what is wrong with it.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>

#include "filter/key_hash.h"
#include "source/feed.h"
#include "sqlite/database.h"
#include "sqlite/rows.h"
#include "sqlite/touched_rows.h"
#include "sqlite/trigger_log.h"

namespace cuckooguard::source {

struct LogMark {  // a row of the log
  std::int64_t seq = 0;
  std::int64_t mark = 0;

  bool operator==(const LogMark&) const = default;
};

// Nothing: the log is empty.
std::expected<std::optional<LogMark>, SqliteError> newest_mark(const SqliteDatabase& database);
// Whether the log still has this row: then it has everything behind it, too.
std::expected<bool, SqliteError> has_mark(const SqliteDatabase& database, const LogMark& mark);

class SqliteLogReader {
 public:
  SqliteLogReader();

  // Everything behind `from`.
  std::expected<TouchedRows, TableTrouble> read(const SqliteDatabase& database,
                                                const LoggedTable& table,
                                                Feed& feed,
                                                const LogMark& from);

 private:
  std::expected<void, std::string> add(const LoggedTable& table,
                                       Feed& feed,
                                       const SqliteStatement& change,
                                       SqliteRow& row,
                                       TouchedRows& touched);
  RowName name_of(const LoggedTable& table, const SqliteStatement& change);

  filter::KeyHash name_low_;
  filter::KeyHash name_high_;
  std::string bytes_;  // of a row, while its name is made
};

}  // namespace cuckooguard::source
