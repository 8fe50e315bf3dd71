#include "sqlite/tables.h"

#include <algorithm>

#include "config/table_pattern.h"
#include "sqlite/column.h"
#include "text/try.h"

namespace cuckooguard::source::sqlite {

Expected<std::vector<std::string>> list_tables(const Database& database,
                                               std::span<const std::string> wanted) {
  using config::NameCase;
  std::vector<std::string> tables;
  TRY(each_row(
      database,
      "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type <> 'shadow' AND name NOT "
      "LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name",
      "",
      [&](const Statement& row) {
        if (config::matches_any_table(wanted, row.bytes(0), NameCase::ignored)) {
          tables.emplace_back(row.bytes(0));
        }
      }));
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

Expected<std::vector<KeyedTable>> list_keyed_tables(const Database& database) {
  std::vector<KeyedTable> tables;
  TRY(each_row(
      database,
      "SELECT t.name, c.name, c.type, t.strict, c.pk FROM pragma_table_list t, "
      "pragma_table_xinfo(t.name) c WHERE t.schema = 'main' AND t.type = 'table' AND t.name NOT "
      "LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY t.name, c.pk",
      "",
      [&](const Statement& row) {
        if (tables.empty() || tables.back().name != row.bytes(0)) {
          tables.push_back({.name = std::string(row.bytes(0)), .primary_key = {}});
        }
        if (row.integer(4) == 0) {
          return;
        }
        Column column{.table = std::string(row.bytes(0)),
                      .name = std::string(row.bytes(1)),
                      .declared_type = std::string(row.bytes(2)),
                      .collation = ""};
        column.affinity = affinity_of(column.declared_type, row.integer(3) != 0);
        column.collation = upper_case(database.collation(column.table, column.name).value_or(""));
        tables.back().primary_key.push_back(column.affinity == Affinity::integer
                                                ? placeholder_for(column, {":int64"})
                                                : placeholder_for(column, {"", "|ci", ":uuid"}));
      }));
  return tables;
}

}  // namespace cuckooguard::source::sqlite
