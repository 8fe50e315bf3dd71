// What is read of a row of a planned table.
#include "mysql/table.h"

namespace cuckooguard::source::mysql {
namespace {

// As write_uuid() writes it. NULL of NULL.
std::string uuid_sql(const std::string& column, config::UuidOrder order) {
  const auto group = [&column](const char* place) {
    return "HEX(SUBSTR(" + column + ", " + place + "))";
  };
  const bool is_plain = order == config::UuidOrder::plain;
  return "LOWER(CONCAT(" + group(is_plain ? "1, 4" : "5, 4") + ", '-', " +
         group(is_plain ? "5, 2" : "3, 2") + ", '-', " + group(is_plain ? "7, 2" : "1, 2") +
         ", '-', " + group("9, 2") + ", '-', " + group("11, 6") + "))";
}

}  // namespace

// Where its text is for nothing but to tell rows apart, it is made the log's.
std::string TablePlan::selected(std::size_t column) const {
  const std::string quoted = quoted_name(columns[column].name);
  if (is_null_only(column)) {
    return "IF(" + quoted + " IS NULL, NULL, 1)";
  }
  if (is_uuid(column)) {
    return uuid_sql(quoted, uuid_order);
  }
  const bool is_number = key_text(columns[column]) == KeyText::number;
  return is_number ? "CAST(" + quoted + " AS UNSIGNED)" : quoted;
}

// The condition itself is not for the server: it is the guard that decides, as of rows in the log.
std::string TablePlan::select_sql() const {
  std::string list;
  for (const std::size_t place : needed()) {
    list += (list.empty() ? "" : ", ") + selected(place);
  }
  return "SELECT " + list + " FROM " + quoted_name(schema) + "." + quoted_name(name);
}

std::string TablePlan::count_sql() const {
  return "SELECT COUNT(*) FROM " + quoted_name(schema) + "." + quoted_name(name);
}

}  // namespace cuckooguard::source::mysql
