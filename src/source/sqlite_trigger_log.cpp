#include "source/sqlite_trigger_log.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <variant>

#include "keyspace/key_template.h"

namespace cuckooguard::source {
namespace {

constexpr std::string_view kLogName = "cuckooguard_log";
constexpr int kLogRowsPerRemoval = 100;

// The log's n-th value, from 0.
std::string value(std::size_t n) {
  return "v" + std::to_string(n + 1);
}

template <typename List, typename Text>
std::string join(const List& list, std::string_view between, Text text) {
  std::string joined;
  for (std::size_t n = 0; n < list.size(); ++n) {
    joined += (n == 0 ? "" : std::string(between)) + text(list[n], n);
  }
  return joined;
}

// Writes one table's triggers.
class TriggerWriter {
 public:
  explicit TriggerWriter(const LoggedTable& table)
      : table_(table), name_(quoted_identifier(table.plan.table)), stream_(table.stream()) {}

  LogObject before_insert() const {
    std::string body;
    for (const UniqueKey& key : table_.keys) {
      body += log_seen(key, "");
    }
    return trigger("before insert", "BEFORE INSERT", "", body);
  }
  LogObject after_insert() const {
    return trigger("after insert", "AFTER INSERT", "", log("NEW", 1));
  }
  LogObject after_delete() const {
    return trigger("after delete", "AFTER DELETE", "", log("OLD", -1));
  }
  LogObject before_update() const {
    std::string body;
    for (const UniqueKey& key : table_.keys) {
      body += log_seen(key, " AND (" + differs(key) + ")");
    }
    return trigger("before update", "BEFORE UPDATE", "", body);
  }
  LogObject after_update() const {
    const std::string gone = table_.is_unique() ? log("OLD", -1) : "";
    return trigger("after update",
                   "AFTER UPDATE",
                   "WHEN " + differs(table_.plan.columns) + "\n",
                   gone + log("NEW", 1));
  }

 private:
  LogObject trigger(std::string_view what,
                    std::string_view when,
                    const std::string& condition,
                    const std::string& body) const {
    LogObject object{
        .is_table = false, .name = "cuckooguard " + stream_ + " " + std::string(what), .sql = {}};
    object.sql = "CREATE TRIGGER " + quoted_identifier(object.name) + " " + std::string(when) +
                 " ON " + name_ + "\n" + condition + "BEGIN\n" + body + "END";
    return object;
  }

  std::string log_columns() const {
    return std::string(kLogName) + "(stream, event, " +
           join(table_.plan.columns,
                ", ",
                [](const PlannedColumn& /*column*/, std::size_t n) { return value(n); }) +
           ")";
  }
  std::string values_of(std::string_view row) const {
    return join(table_.plan.columns, ", ", [row](const PlannedColumn& column, std::size_t /*n*/) {
      return std::string(row) + "." + quoted_identifier(column.name);
    });
  }
  std::string log(std::string_view row, int event) const {
    return "  INSERT INTO " + log_columns() + " VALUES (" + quoted_text(stream_) + ", " +
           std::to_string(event) + ", " + values_of(row) + ");\n";
  }
  std::string log_seen(const UniqueKey& key, const std::string& further) const {
    return "  INSERT INTO " + log_columns() + " SELECT " + quoted_text(stream_) + ", 0, " +
           values_of("present") + " FROM " + name_ + " AS present WHERE " +
           join(key,
                " AND ",
                [](const KeyColumn& column, std::size_t /*n*/) {
                  const std::string name = quoted_identifier(column.name);
                  return "present." + name + " = NEW." + name +
                         (column.collation.empty()
                              ? ""
                              : " COLLATE " + quoted_identifier(column.collation));
                }) +
           further + ";\n";
  }
  // Byte by byte, whatever the columns' collations.
  template <typename Columns>
  static std::string differs(const Columns& columns) {
    return join(columns, " OR ", [](const auto& column, std::size_t /*n*/) {
      const std::string name = quoted_identifier(column.name);
      return "OLD." + name + " COLLATE BINARY IS NOT NEW." + name;
    });
  }

  const LoggedTable& table_;
  std::string name_;
  std::string stream_;
};

bool is_known(const std::string& collation) {
  static constexpr std::array<std::string_view, 4> kKnown = {"", "BINARY", "NOCASE", "RTRIM"};
  return std::ranges::find(kKnown, collation) != kKnown.end();
}

bool is_within(const UniqueKey& key, const std::vector<PlannedColumn>& identity) {
  return std::ranges::all_of(key, [&identity](const KeyColumn& column) {
    return is_known(column.collation) &&
           std::ranges::find(identity, column.name, &PlannedColumn::name) != identity.end();
  });
}

// Through the unique index, and then by the very bytes: an index can be NOCASE.
std::string is_there(const LoggedTable& table) {
  const auto place = [&table](const std::string& name) {
    return static_cast<std::size_t>(
        std::ranges::find(table.plan.columns, name, &PlannedColumn::name) -
        table.plan.columns.begin());
  };
  std::string found =
      join(table.within_identity, " AND ", [&](const KeyColumn& column, std::size_t) {
        return "present." + quoted_identifier(column.name) + " = log." + value(place(column.name)) +
               (column.collation.empty() ? "" : " COLLATE " + quoted_identifier(column.collation));
      });
  for (std::size_t n = 0; n < table.plan.columns.size(); ++n) {
    found += " AND present." + quoted_identifier(table.plan.columns[n].name) +
             " COLLATE BINARY IS log." + value(n);
  }
  return "EXISTS (SELECT 1 FROM main." + quoted_identifier(table.plan.table) +
         " AS present WHERE " + found + ")";
}

}  // namespace

std::string LoggedTable::stream() const {
  return plan.table + "(" +
         join(plan.columns,
              ", ",
              [](const PlannedColumn& column, std::size_t /*n*/) { return column.name; }) +
         ")";
}

std::vector<LogObject> LoggedTable::triggers() const {
  const TriggerWriter writer(*this);
  if (!is_unique()) {
    return {writer.after_insert(), writer.after_update()};
  }
  return {writer.before_insert(),
          writer.after_insert(),
          writer.after_delete(),
          writer.before_update(),
          writer.after_update()};
}

std::string LoggedTable::changes_sql() const {
  return "SELECT " +
         join(plan.columns,
              ", ",
              [](const PlannedColumn& /*column*/, std::size_t n) { return "log." + value(n); }) +
         ", log.event, " + (is_unique() ? is_there(*this) : std::string("log.event = 1")) +
         " FROM main." + std::string(kLogName) +
         " AS log WHERE log.seq > ?1 AND log.stream = ?2 ORDER BY log.seq";
}

std::expected<LoggedTable, TableTrouble> plan_logged_table(const SqliteDatabase& database,
                                                           const Target& target) {
  auto plan = plan_table(database, target);
  if (!plan) {
    return std::unexpected(std::move(plan.error()));
  }
  auto keys = unique_keys(database, plan->table);
  if (!keys) {
    return std::unexpected(std::move(keys.error()));
  }
  LoggedTable table{
      .plan = *std::move(plan), .keys = *std::move(keys), .within_identity = UniqueKey()};
  const auto within = std::ranges::find_if(
      table.keys, [&table](const UniqueKey& key) { return is_within(key, table.plan.columns); });
  if (within != table.keys.end()) {
    table.within_identity = *within;
  }
  return table;
}

std::vector<LogObject> log_objects() {
  std::array<int, keyspace::kPlaceholdersMax> values{};
  const std::string name(kLogName);
  return {{.is_table = true,
           .name = name,
           .sql = "CREATE TABLE " + name +
                  "(seq INTEGER PRIMARY KEY, mark DEFAULT (random()), stream, event, " +
                  join(values, ", ", [](int /*unused*/, std::size_t n) { return value(n); }) + ")"},
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
