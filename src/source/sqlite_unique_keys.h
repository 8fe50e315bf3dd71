// What keeps two rows of a SQLite table apart: its rowid, and its unique indexes over plain columns.
//
// By these a REPLACE finds the rows that it removes. Left out are indexes over expressions or with a WHERE:
// what they say cannot be asked of the index by a comparison of columns.
//
// Called by: plan_logged_table. Threads: the source's. Errors: SqliteError.
// Source: sqlite.org/pragma.html (index_list, index_xinfo), lang_createtable.html 5 (rowid).
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "source/sqlite_database.h"

namespace cuckooguard::source {

struct KeyColumn {
  std::string name;
  std::string collation;  // the index's; empty: the rowid, which is a number

  bool operator==(const KeyColumn&) const = default;
};

using UniqueKey = std::vector<KeyColumn>;

// The rowid, if there is one, comes first: under the name of its INTEGER PRIMARY KEY, or the one of its own
// names that no column has taken.
std::expected<std::vector<UniqueKey>, SqliteError> unique_keys(const SqliteDatabase& database,
                                                               const std::string& table);

}  // namespace cuckooguard::source
