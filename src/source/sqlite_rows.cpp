#include "source/sqlite_rows.h"

#include <charconv>

namespace cuckooguard::source {

bool SqliteRow::read(const SqliteStatement& statement) {
  for (std::size_t column = 0; column < plan_.columns.size(); ++column) {
    if (!read_value(statement, column)) {
      return false;
    }
  }
  return true;
}

bool SqliteRow::read_value(const SqliteStatement& statement, std::size_t column) {
  const int index = static_cast<int>(column);
  switch (statement.type(index)) {
    case SQLITE_NULL:
      values_[column].reset();
      return true;
    case SQLITE_INTEGER: {
      if (plan_.columns[column].text_only) {
        return refuse(
            "a number where the key template expects text; write {…:uint64} or {…:int64} there",
            statement,
            column);
      }
      auto& digits = digits_[column];
      const auto end =
          std::to_chars(digits.data(), digits.data() + digits.size(), statement.integer(index)).ptr;
      values_[column].emplace(digits.data(), static_cast<std::size_t>(end - digits.data()));
      return true;
    }
    case SQLITE_FLOAT:
      return refuse("a floating point number, which has no canonical text", statement, column);
    default:
      values_[column] = statement.bytes(index);
      return true;
  }
}

bool SqliteRow::refuse(std::string_view what,
                       const SqliteStatement& statement,
                       std::size_t column) {
  refusal_ = "table \"" + plan_.table + "\" has " +
             std::string(statement.bytes(static_cast<int>(column))) + " in column \"" +
             plan_.columns[column].name + "\": " + std::string(what);
  return false;
}

}  // namespace cuckooguard::source
