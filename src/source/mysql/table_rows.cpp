// What is read of a row of a planned table.
#include <algorithm>

#include "mysql/table.h"

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

// Where its text is for nothing but to tell rows apart, it is made the log's.
std::string MysqlTable::selected(std::size_t column) const {
  const std::string quoted = quoted_mysql_name(columns[column].name);
  if (is_null_only(column)) {
    return "IF(" + quoted + " IS NULL, NULL, 1)";
  }
  const bool is_number = key_text(columns[column]) == KeyText::number;
  return is_number ? "CAST(" + quoted + " AS UNSIGNED)" : quoted;
}

// The condition itself is not for the server: it is the guard that decides, as of rows in the log.
std::string MysqlTable::select_sql() const {
  std::string list;
  for (const std::size_t place : needed()) {
    list += (list.empty() ? "" : ", ") + selected(place);
  }
  return "SELECT " + list + " FROM " + quoted_mysql_name(schema) + "." + quoted_mysql_name(name);
}

std::string MysqlTable::count_sql() const {
  return "SELECT COUNT(*) FROM " + quoted_mysql_name(schema) + "." + quoted_mysql_name(name);
}

}  // namespace cuckooguard::source
