// Which tables of a SQLite database a namespace has, by its list of names and patterns.
//
// Patterns find whatever rows could come from, views and virtual tables too: that those cannot be
// read is plan_table()'s to say, since to leave them out would hide their rows. Not found are
// SQLite's own tables (sqlite_…) and the ones behind virtual tables. Case does not count, as in
// SQL.
//
// Errors: values.
// Source: sqlite.org/pragma.html#pragma_table_list.
#pragma once

#include <expected>
#include <span>
#include <string>
#include <vector>

#include "source/keyed_table.h"
#include "sqlite/database.h"

namespace cuckooguard::source::sqlite {

// As the schema spells them; a name for which there is no table as it is.
Expected<std::vector<std::string>> list_tables(const Database& database,
                                               std::span<const std::string> wanted);

// All that rows can be read from.
Expected<std::vector<KeyedTable>> list_keyed_tables(const Database& database);

}  // namespace cuckooguard::source::sqlite
