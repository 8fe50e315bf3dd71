// What keeps two rows of a SQLite table apart: its rowid, and its unique indexes.
//
// By these a REPLACE finds the rows that it removes. Those over expressions or with a WHERE are
// known by their text alone, and name no row.
//
// Threads: the source's. Errors: SqliteError; a sentence for an index whose text is not understood.
// Source: sqlite.org/pragma.html (index_list, index_xinfo), lang_createtable.html 5 (rowid).
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "sqlite/database.h"
#include "sqlite/index_text.h"
#include "sqlite/table.h"

namespace cuckooguard::source {

struct KeyColumn {
  std::string name;
  std::string collation;  // the index's; empty: the rowid, which is a number

  bool operator==(const KeyColumn&) const = default;
};

using UniqueKey = std::vector<KeyColumn>;

// Of all indexes over plain columns and all rows. The rowid, if there is one, comes first: under
// the name of its INTEGER PRIMARY KEY, or the one of its own names that no column has taken.
std::expected<std::vector<UniqueKey>, SqliteError> unique_keys(const SqliteDatabase& database,
                                                               const std::string& table);

struct UniqueText {
  SqliteIndexText index;
  std::vector<std::string> columns;  // all of which it may speak, also those that are computed
};

// Of all others.
std::expected<std::vector<UniqueText>, TableTrouble> unique_texts(const SqliteDatabase& database,
                                                                  const std::string& table);

}  // namespace cuckooguard::source
