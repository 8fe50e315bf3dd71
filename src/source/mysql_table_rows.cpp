// What is read of a row of a planned table.
#include <algorithm>

#include "source/mysql_table.h"

namespace cuckooguard::source {

std::vector<std::size_t> MysqlTable::needed() const {
  std::vector<std::size_t> all;
  for (const auto* const places : {&identity, &condition_columns, &primary_key}) {
    for (const std::size_t place : *places) {
      if (std::ranges::find(all, place) == all.end()) {
        all.push_back(place);
      }
    }
  }
  return all;
}

bool MysqlTable::is_null_only(std::size_t column) const {
  const auto is_used_by = [column](const std::vector<std::size_t>& places) {
    return std::ranges::find(places, column) != places.end();
  };
  if (is_used_by(identity) || is_used_by(primary_key)) {
    return false;
  }
  for (std::size_t i = 0; i < condition_columns.size(); ++i) {
    if (condition_columns[i] == column && condition.use_of(i).compares()) {
      return false;
    }
  }
  return is_used_by(condition_columns);
}

// The condition itself is not for the server: it is the guard that decides, as of rows in the log.
std::string MysqlTable::select_sql() const {
  std::string list;
  for (const std::size_t place : needed()) {
    const std::string column = quoted_mysql_name(columns[place].name);
    list += (list.empty() ? "" : ", ") +
            (is_null_only(place) ? "IF(" + column + " IS NULL, NULL, 1)" : column);
  }
  return "SELECT " + list + " FROM " + quoted_mysql_name(schema) + "." + quoted_mysql_name(name);
}

}  // namespace cuckooguard::source
