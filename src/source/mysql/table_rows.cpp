// What is read of a row of a planned table.
#include "mysql/table.h"

namespace cuckooguard::source {

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
