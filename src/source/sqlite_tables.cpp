#include "source/sqlite_tables.h"

#include <algorithm>

#include "config/table_pattern.h"

namespace cuckooguard::source {

std::expected<std::vector<std::string>, SqliteError> list_sqlite_tables(
    const SqliteDatabase& database, std::span<const std::string> wanted) {
  using config::NameCase;
  auto statement = database.prepare(
      "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type <> 'shadow' AND name NOT "
      "LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name");
  if (!statement) {
    return std::unexpected(statement.error());
  }
  std::vector<std::string> tables;
  for (;;) {
    const auto row = statement->step();
    if (!row) {
      return std::unexpected(row.error());
    }
    if (!*row) {
      break;
    }
    if (config::matches_any_table(wanted, statement->bytes(0), NameCase::ignored)) {
      tables.emplace_back(statement->bytes(0));
    }
  }
  for (const std::string& name : wanted) {
    const bool is_there = std::ranges::any_of(tables, [&name](const std::string& table) {
      return config::matches_table(name, table, NameCase::ignored);
    });
    if (!is_there && !config::is_table_pattern(name)) {
      tables.push_back(name);
    }
  }
  return tables;
}

}  // namespace cuckooguard::source
