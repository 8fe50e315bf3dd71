#include "sqlite/log_objects.h"

namespace cuckooguard::source {
namespace {

constexpr int kLogRowsPerRemoval = 100;

}  // namespace

std::string log_place(std::size_t n) {
  return "v" + std::to_string(n + 1);
}

std::vector<LogObject> log_objects() {
  const std::string name(kLogName);
  std::string columns = "seq INTEGER PRIMARY KEY, mark DEFAULT (random()), stream, event";
  for (std::size_t n = 0; n < kLogValuesMax; ++n) {
    columns += ", " + log_place(n);
  }
  return {{.is_table = true, .name = name, .sql = "CREATE TABLE " + name + "(" + columns + ")"},
          {.is_table = false,
           .name = name + "_keeps_short",
           .sql = "CREATE TRIGGER " + name + "_keeps_short AFTER INSERT ON " + name +
                  "\nWHEN NEW.seq % " + std::to_string(kLogRowsPerRemoval) +
                  " = 0\nBEGIN\n  DELETE FROM " + name + " WHERE seq <= NEW.seq - " +
                  std::to_string(kLogRowsMax) + ";\nEND"}};
}

std::expected<std::vector<LogObject>, SqliteError> missing_objects(
    const SqliteDatabase& database, const std::vector<LogObject>& wanted) {
  auto statement = database.prepare(
      "SELECT 1 FROM main.sqlite_schema WHERE type = ?1 AND name = ?2 AND sql = ?3");
  if (!statement) {
    return std::unexpected(statement.error());
  }
  std::vector<LogObject> missing;
  for (const LogObject& object : wanted) {
    statement->bind(1, object.is_table ? "table" : "trigger");
    statement->bind(2, object.name);
    statement->bind(3, object.sql);
    const auto row = statement->step();
    statement->reset();
    if (!row) {
      return std::unexpected(row.error());
    }
    // With the log go its triggers.
    const bool log_is_made_anew = !missing.empty() && missing.front().is_table;
    const bool is_of_log = object.name.starts_with(kLogName);
    if (!*row || (log_is_made_anew && is_of_log)) {
      missing.push_back(object);
    }
  }
  return missing;
}

std::string creation_sql(const std::vector<LogObject>& objects) {
  std::string sql;
  for (const LogObject& object : objects) {
    sql += std::string("DROP ") + (object.is_table ? "TABLE" : "TRIGGER") + " IF EXISTS " +
           quoted_identifier(object.name) + ";\n" + object.sql + ";\n";
    if (object.is_table) {  // from which to follow: a log without a row says nothing
      sql += "INSERT INTO " + std::string(kLogName) + "(event) VALUES (0);\n";
    }
  }
  return sql;
}

}  // namespace cuckooguard::source
