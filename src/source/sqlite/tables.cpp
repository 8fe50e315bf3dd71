#include "sqlite/tables.h"

#include <algorithm>

#include "config/table_pattern.h"

namespace cuckooguard::source {

std::expected<std::vector<std::string>, SqliteError> list_sqlite_tables(
    const SqliteDatabase& database, std::span<const std::string> wanted) {
  using config::NameCase;
  std::vector<std::string> tables;
  const auto read = each_row(
      database,
      "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type <> 'shadow' AND name NOT "
      "LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name",
      "",
      [&](const SqliteStatement& row) {
        if (config::matches_any_table(wanted, row.bytes(0), NameCase::ignored)) {
          tables.emplace_back(row.bytes(0));
        }
      });
  if (!read) {
    return std::unexpected(read.error());
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
