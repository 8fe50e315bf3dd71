#include "sqlite/rows.h"

#include <charconv>
#include <utility>
#include <variant>

#include "keyspace/identity.h"
#include "text/try.h"

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
      return refuse(
          "a value whose type differs from the column's, which the condition cannot compare",
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
            "a number where the key template expects text; write {…:uint64} or {…:int64} in the "
            "template",
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
            "a UUID as 16 bytes, but keys contain text; declare the column BLOB and write "
            "{…:uuid}, or {…:rest} if keys contain the 16 bytes",
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
    return refuse("it is not a UUID of 16 bytes like the other rows",
                  statement,
                  column,
                  plan_.columns[column].name);
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

SnapshotReader::SnapshotReader(const Database& database,
                               const std::stop_token& stop,
                               std::function<void()> at_check)
    : database_(database), stop_(stop), at_check_(std::move(at_check)) {}

Done SnapshotReader::read(Feed& feed, filter::DeleteMode deletes) {
  const auto plan = plan_table(database_, feed.target(), feed.table());
  if (!plan) {
    if (const auto* why = std::get_if<std::string>(&plan.error())) {
      feed.refuse(filter::State::refused, *why);
      return {};
    }
    return std::unexpected(std::get<Error>(plan.error()));
  }
  for (;;) {
    auto read = read_table(feed, *plan, deletes);
    if (!read && (read.error().code & kPrimaryCode) == SQLITE_ERROR) {
      feed.refuse(filter::State::refused,
                  read.error().what);  // this table's fault, not the database's
      return {};
    }
    const Reading reading = TRY(std::move(read));
    if (reading == Reading::finished) {
      return {};
    }
  }
}

Expected<SnapshotReader::Reading> SnapshotReader::read_table(Feed& feed,
                                                             const TablePlan& plan,
                                                             filter::DeleteMode deletes) {
  // Counting takes a tenth of the time of reading, and the filter then has its right size at once.
  const auto rows = TRY(count(database_, plan.count_sql()));
  auto statement = TRY(database_.prepare(plan.select_sql()));
  if (feed.begin(rows, deletes) == Feed::Intake::refused) {
    return Reading::finished;
  }
  if (plan.grows) {
    feed.ids_grow(
        TRY(count(database_, plan.largest_id_sql(), plan.is_autoincrement ? plan.table : "")));
  }
  return read_rows(feed, plan, statement);
}

Expected<SnapshotReader::Reading> SnapshotReader::read_rows(Feed& feed,
                                                            const TablePlan& plan,
                                                            Statement& statement) {
  Row row(plan);
  for (std::uint64_t count = 1;; ++count) {
    const auto has_row = TRY(statement.step());
    if (has_row && !row.read(statement)) {
      feed.refuse(filter::State::unsynced, row.refusal());
      return Reading::finished;
    }
    auto intake = Feed::Intake::taken;
    if (!has_row) {
      intake = feed.complete();
    } else if (row.counts()) {
      intake = feed.add(row.values());
    }
    if (intake == Feed::Intake::too_small) {
      return Reading::too_small;
    }
    if (!has_row || intake == Feed::Intake::refused) {
      return Reading::finished;
    }
    if (count % kRowsPerCheck == 0) {
      at_check_();
      if (stop_.stop_requested()) {
        return std::unexpected(Error{.code = SQLITE_INTERRUPT, .what = "interrupted"});
      }
    }
  }
}

}  // namespace cuckooguard::source::sqlite
