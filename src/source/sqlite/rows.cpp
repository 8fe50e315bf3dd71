#include "sqlite/rows.h"

#include <charconv>

#include "keyspace/identity.h"

namespace cuckooguard::source::sqlite {

bool Row::read(const Statement& statement) {
  counts_ = false;
  if (!read_condition(statement)) {
    return false;
  }
  counts_ = plan_.condition.holds(asked_);
  for (std::size_t column = 0; counts_ && column < plan_.columns.size(); ++column) {
    if (!read_value(statement, column)) {
      return false;
    }
  }
  return true;
}

// A number in a TEXT column, or a blob anywhere, is one that SQLite compares otherwise than by its
// text.
bool Row::read_condition(const Statement& statement) {
  using Form = ConditionColumn::Form;
  for (std::size_t i = 0; i < asked_.size(); ++i) {
    const ConditionColumn& column = plan_.condition_columns[i];
    const std::size_t place = plan_.columns.size() + i;
    const int index = static_cast<int>(place);
    const int type = statement.type(index);
    if (type == SQLITE_NULL) {
      asked_[i].reset();
    } else if (column.form == Form::null_only) {
      asked_[i].emplace();
    } else if (column.form == Form::integer && type == SQLITE_INTEGER) {
      asked_[i] = printed(statement.integer(index), asked_digits_[i]);
    } else if (column.form == Form::text && type == SQLITE_TEXT) {
      asked_[i] = statement.bytes(index);
    } else {
      return refuse("a value of another type than the column's, which the condition cannot compare",
                    statement,
                    place,
                    column.name);
    }
  }
  return true;
}

std::string_view Row::printed(std::int64_t number, Digits& digits) {
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  return {digits.data(), static_cast<std::size_t>(end - digits.data())};
}

bool Row::read_value(const Statement& statement, std::size_t column) {
  const int index = static_cast<int>(column);
  const int type = statement.type(index);
  if (plan_.columns[column].is_uuid && type != SQLITE_NULL) {
    return read_uuid(statement, column);
  }
  switch (type) {
    case SQLITE_NULL:
      values_[column].reset();
      return true;
    case SQLITE_INTEGER:
      if (plan_.columns[column].text_only) {
        return refuse(
            "a number where the key template expects text; write {…:uint64} or {…:int64} there",
            statement,
            column,
            plan_.columns[column].name);
      }
      values_[column] = printed(statement.integer(index), digits_[column]);
      return true;
    case SQLITE_FLOAT:
      return refuse("a floating point number, which has no canonical text",
                    statement,
                    column,
                    plan_.columns[column].name);
    default:
      values_[column] = statement.bytes(index);
      if (plan_.columns[column].is_key_text && type == SQLITE_BLOB &&
          statement.bytes(index).size() == kUuidBytes &&
          !keyspace::is_printable_ascii(statement.bytes(index))) {
        return refuse(
            "16 bytes, as UUIDs are kept, where keys have text; declare the column BLOB "
            "and write {…:uuid}, or {…:rest} if keys have these bytes themselves",
            statement,
            column,
            plan_.columns[column].name);
      }
      return true;
  }
}

bool Row::read_uuid(const Statement& statement, std::size_t column) {
  const int index = static_cast<int>(column);
  const std::string_view bytes = statement.bytes(index);
  if (statement.type(index) != SQLITE_BLOB || bytes.size() != kUuidBytes) {
    return refuse(
        "it is no UUID of 16 bytes, as the others", statement, column, plan_.columns[column].name);
  }
  values_[column] = write_uuid(bytes, plan_.uuid_order, uuid_texts_.at(column));
  return true;
}

bool Row::refuse(std::string_view what,
                 const Statement& statement,
                 std::size_t column,
                 const std::string& name) {
  refusal_ = "table \"" + plan_.table + "\" has " +
             std::string(statement.bytes(static_cast<int>(column))) + " in column \"" + name +
             "\": " + std::string(what);
  return false;
}

}  // namespace cuckooguard::source::sqlite
