#include "source/sqlite_rows.h"

#include <charconv>
#include <utility>

namespace cuckooguard::source {

std::expected<SqliteRow::Values, std::string> SqliteRow::read(const SqliteStatement& statement) {
  for (std::size_t column = 0; column < plan_.columns.size(); ++column) {
    if (auto why = read_value(statement, column)) {
      return std::unexpected(*std::move(why));
    }
  }
  return Values(values_.data(), plan_.columns.size());
}

// Why the value cannot be used, or nothing.
std::optional<std::string> SqliteRow::read_value(const SqliteStatement& statement,
                                                 std::size_t column) {
  const int index = static_cast<int>(column);
  const PlannedColumn& planned = plan_.columns[column];
  switch (statement.type(index)) {
    case SQLITE_NULL:
      values_[column].reset();
      return std::nullopt;
    case SQLITE_INTEGER: {
      if (planned.text_only) {
        return "table \"" + plan_.table + "\" has the number " +
               std::string(statement.bytes(index)) + " in column \"" + planned.name +
               "\", which the key template takes for text; write {…:uint64} or {…:int64} there";
      }
      auto& digits = digits_[column];
      const auto end =
          std::to_chars(digits.data(), digits.data() + digits.size(), statement.integer(index)).ptr;
      values_[column].emplace(digits.data(), static_cast<std::size_t>(end - digits.data()));
      return std::nullopt;
    }
    case SQLITE_FLOAT:
      return "table \"" + plan_.table + "\" has the floating point number " +
             std::string(statement.bytes(index)) + " in column \"" + planned.name +
             "\", which has no canonical text";
    default:
      values_[column] = statement.bytes(index);
      return std::nullopt;
  }
}

}  // namespace cuckooguard::source
