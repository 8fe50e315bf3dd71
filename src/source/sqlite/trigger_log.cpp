#include "sqlite/trigger_log.h"

#include <algorithm>
#include <array>
#include <utility>
#include <variant>

#include "sqlite/origin.h"
#include "text/try.h"

namespace cuckooguard::source::sqlite {

namespace {

constexpr int kLogRowsPerRemoval = 100;

template <typename List, typename Text>
std::string join(const List& list, std::string_view between, Text text) {
  std::string joined;
  for (std::size_t n = 0; n < list.size(); ++n) {
    joined += (n == 0 ? "" : std::string(between)) + text(list[n], n);
  }
  return joined;
}

std::string column_of(std::string_view row, const std::string& column) {
  return std::string(row) + "." + quoted_identifier(column);
}

// The value of a row as it is logged.
std::string logged(std::string_view row, const LoggedValue& value) {
  const std::string column = column_of(row, value.column);
  return value.is_nullness ? "nullif(" + column + " IS NOT NULL, 0)" : column;
}

// present."mail" = NEW."mail" COLLATE "NOCASE", by the index's rule.
std::string equal(const KeyColumn& column, const std::string& left, const std::string& right) {
  return left + " = " + right +
         (column.collation.empty() ? "" : " COLLATE " + quoted_identifier(column.collation));
}

// Byte by byte, whatever the columns' collations.
std::string differs(const std::string& left, const std::string& right) {
  return left + " COLLATE BINARY IS NOT " + right;
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
    for (const UniqueText& text : table_.texts) {
      body += log_seen(text, "");
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
      const std::string has_changed =
          join(key, " OR ", [](const KeyColumn& column, std::size_t /*n*/) {
            return differs(column_of("OLD", column.name), column_of("NEW", column.name));
          });
      body += log_seen(key, " AND (" + has_changed + ")");
    }
    for (const UniqueText& text : table_.texts) {
      body += log_seen(text, " AND " + asked_of("OLD", text, comes_into(text)));
    }
    return trigger("before update", "BEFORE UPDATE", "", body);
  }
  LogObject after_update() const {
    const std::string has_changed =
        join(table_.values, " OR ", [](const LoggedValue& value, std::size_t /*n*/) {
          return differs(logged("OLD", value), logged("NEW", value));
        });
    return trigger("after update",
                   "AFTER UPDATE",
                   "WHEN " + has_changed + "\n",
                   log("OLD", -1) + log("NEW", 1));
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
           join(table_.values,
                ", ",
                [](const LoggedValue& /*value*/, std::size_t n) { return log_place(n); }) +
           ")";
  }
  std::string values_of(std::string_view row) const {
    return join(table_.values, ", ", [row](const LoggedValue& value, std::size_t /*n*/) {
      return logged(row, value);
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
                  return equal(
                      column, column_of("present", column.name), column_of("NEW", column.name));
                }) +
           further + ";\n";
  }

  // By an index of which only the text is known. What it says is asked of rows that go by the
  // table's name.
  std::string log_seen(const UniqueText& text, const std::string& further) const {
    const std::string& condition = text.index.condition;
    return "  INSERT INTO " + log_columns() + " SELECT " + quoted_text(stream_) + ", 0, " +
           values_of(name_) + " FROM " + name_ + " AS " + name_ + " WHERE " +
           join(text.index.parts,
                " AND ",
                [&](const std::string& part, std::size_t /*n*/) {
                  return "(" + part + ") = " + asked_of("NEW", text, part);
                }) +
           (condition.empty()
                ? ""
                : " AND (" + condition + ") AND " + asked_of("NEW", text, condition)) +
           further + ";\n";
  }
  // Whether the row that this is asked of was not in the index, or elsewhere in it.
  std::string comes_into(const UniqueText& text) const {
    const std::string& condition = text.index.condition;
    return join(text.index.parts,
                " OR ",
                [&](const std::string& part, std::size_t /*n*/) {
                  return "(" + part + ") IS NOT " + asked_of("NEW", text, part);
                }) +
           (condition.empty() ? "" : " OR (" + condition + ") IS NOT TRUE");
  }
  // An expression over the table's columns, of a row that a trigger knows.
  std::string asked_of(const std::string& row,
                       const UniqueText& text,
                       const std::string& expression) const {
    const std::string values =
        join(text.columns, ", ", [&row](const std::string& column, std::size_t /*n*/) {
          return column_of(row, column) + " AS " + quoted_identifier(column);
        });
    return "(SELECT " + expression + " FROM (SELECT " + (values.empty() ? "1" : values) + ") AS " +
           name_ + ")";
  }

  const LoggedTable& table_;
  std::string name_;
  std::string stream_;
};

// Those that every connection has.
bool is_known(const std::string& collation) {
  static constexpr std::array<std::string_view, 4> kKnown = {"", "BINARY", "NOCASE", "RTRIM"};
  return std::ranges::find(kKnown, collation) != kKnown.end();
}

bool is_usable(const UniqueKey& key) {
  return std::ranges::all_of(key, is_known, &KeyColumn::collation);
}

bool is_within(const UniqueKey& key, const std::vector<PlannedColumn>& identity) {
  return std::ranges::all_of(key, [&identity](const KeyColumn& column) {
    return std::ranges::find(identity, column.name, &PlannedColumn::name) != identity.end();
  });
}

// By which a row is found again: within the identity, if there is such a key.
std::optional<UniqueKey> choose_key(const std::vector<UniqueKey>& keys,
                                    const std::vector<PlannedColumn>& identity) {
  const auto within = std::ranges::find_if(
      keys, [&](const UniqueKey& key) { return is_usable(key) && is_within(key, identity); });
  if (within != keys.end()) {
    return *within;
  }
  const auto usable = std::ranges::find_if(keys, is_usable);
  return usable == keys.end() ? std::nullopt : std::optional(*usable);
}

void choose_values(LoggedTable& table) {
  for (const PlannedColumn& column : table.plan.columns) {
    table.values.push_back({.column = column.name, .is_nullness = false});
  }
  for (const ConditionColumn& column : table.plan.condition_columns) {
    table.values.push_back(
        {.column = column.name, .is_nullness = column.form == ConditionColumn::Form::null_only});
  }
  for (const KeyColumn& column : table.key) {
    const bool is_logged = std::ranges::any_of(table.values, [&column](const LoggedValue& value) {
      return value.column == column.name && !value.is_nullness;
    });
    if (!is_logged) {
      table.values.push_back({.column = column.name, .is_nullness = false});
    }
  }
}

// By the key's index, and then by the very bytes: an index can be NOCASE.
std::string is_there(const LoggedTable& table) {
  const auto place_of = [&table](const std::string& column) {
    const auto found = std::ranges::find_if(table.values, [&column](const LoggedValue& value) {
      return value.column == column && !value.is_nullness;
    });
    return static_cast<std::size_t>(found - table.values.begin());
  };
  return "EXISTS (SELECT 1 FROM main." + quoted_identifier(table.plan.table) +
         " AS present WHERE " +
         join(table.key,
              " AND ",
              [&](const KeyColumn& column, std::size_t /*n*/) {
                return equal(column,
                             column_of("present", column.name),
                             "log." + log_place(place_of(column.name)));
              }) +
         join(table.values,
              "",
              [](const LoggedValue& value, std::size_t n) {
                return " AND " + logged("present", value) + " COLLATE BINARY IS log." +
                       log_place(n);
              }) +
         ")";
}

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

Expected<std::vector<LogObject>> missing_objects(const Database& database,
                                                 const std::vector<LogObject>& wanted) {
  auto statement = TRY(database.prepare(
      "SELECT 1 FROM main.sqlite_schema WHERE type = ?1 AND name = ?2 AND sql = ?3"));
  std::vector<LogObject> missing;
  for (const LogObject& object : wanted) {
    statement.bind(1, object.is_table ? "table" : "trigger");
    statement.bind(2, object.name);
    statement.bind(3, object.sql);
    auto row = statement.step();
    statement.reset();
    const bool is_there = TRY(std::move(row));
    // With the log go its triggers.
    const bool log_is_made_anew = !missing.empty() && missing.front().is_table;
    const bool is_of_log = object.name.starts_with(kLogName);
    if (!is_there || (log_is_made_anew && is_of_log)) {
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

std::string LoggedTable::stream() const {
  return plan.table + "(" +
         join(values,
              ", ",
              [](const LoggedValue& value, std::size_t /*n*/) {
                return value.column + (value.is_nullness ? " IS NULL" : "");
              }) +
         ")";
}

std::vector<LogObject> LoggedTable::triggers() const {
  const TriggerWriter writer(*this);
  return {writer.before_insert(),
          writer.after_insert(),
          writer.after_delete(),
          writer.before_update(),
          writer.after_update()};
}

std::string LoggedTable::changes_sql() const {
  return "SELECT " +
         join(values,
              ", ",
              [](const LoggedValue& /*value*/, std::size_t n) { return "log." + log_place(n); }) +
         ", log.event, " + is_there(*this) + " FROM main." + std::string(kLogName) +
         " AS log WHERE log.seq > ?1 AND log.stream = ?2 ORDER BY log.seq";
}

Planned<LoggedTable> plan_logged_table(const Database& database,
                                       const Target& target,
                                       const std::string& table) {
  auto plan = TRY(plan_table(database, target, table));
  auto keys = TRY(unique_keys(database, plan.table));
  auto texts = TRY(unique_texts(database, plan.table));
  auto key = choose_key(keys, plan.columns);
  if (!key) {
    return std::unexpected(
        "table \"" + plan.table +
        "\" has no key with which triggers could identify a row; use follow: rescan");
  }
  LoggedTable result{.plan = std::move(plan),
                     .keys = std::move(keys),
                     .texts = std::move(texts),
                     .key = *std::move(key)};
  result.identity_is_unique = is_within(result.key, result.plan.columns);
  choose_values(result);
  if (result.values.size() > kLogValuesMax) {
    return std::unexpected("the triggers of table \"" + result.plan.table +
                           "\" would have to log " + std::to_string(result.values.size()) +
                           " columns, but the maximum is " + std::to_string(kLogValuesMax) +
                           "; use follow: rescan");
  }
  if (target.settings.filter.deletes == config::Deletes::trusted && !result.identity_is_unique) {
    return std::unexpected(
        "deletes: trusted requires that no two rows have the same key, but rows of table \"" +
        result.plan.table + "\" can share one; use exact or auto");
  }
  return result;
}

namespace {

// Triggers of the guard's that no target asks for: of a table or column that is not guarded any
// more, or of another guard.
Expected<std::vector<std::string>> other_triggers(const Database& database,
                                                  const std::vector<LogObject>& wanted) {
  std::vector<std::string> others;
  TRY(each_row(
      database,
      "SELECT name FROM main.sqlite_schema WHERE type = 'trigger' AND substr(name, 1, 12) = "
      "'cuckooguard ' ORDER BY name",
      "",
      [&](const Statement& row) {
        std::string name(row.bytes(0));
        if (std::ranges::find(wanted, name, &LogObject::name) == wanted.end()) {
          others.push_back(std::move(name));
        }
      }));
  return others;
}

Planned<std::vector<LogObject>> wanted_log(const Database& database,
                                           std::span<const Target> targets) {
  std::vector<LogObject> wanted = log_objects();
  for (const Target& target : targets) {
    for (const std::string& name : target.settings.source.tables) {
      const auto table = TRY(plan_logged_table(database, target, name));
      for (LogObject& trigger : table.triggers()) {
        if (std::ranges::find(wanted, trigger.name, &LogObject::name) == wanted.end()) {
          wanted.push_back(std::move(trigger));  // several namespaces can be made of one column
        }
      }
    }
  }
  return wanted;
}

Error error_of(TableTrouble trouble) {
  if (auto* error = std::get_if<Error>(&trouble)) {
    return std::move(*error);
  }
  return {.code = SQLITE_ERROR, .what = std::get<std::string>(std::move(trouble))};
}

Done install_in(const Database& database, std::span<const Target> targets) {
  TRY(database.run("BEGIN IMMEDIATE"));
  const auto missing = missing_log(database, targets);
  Done done = missing ? database.run_all(creation_sql(*missing))
                      : Done(std::unexpected(error_of(missing.error())));
  if (done) {
    done = database.run("COMMIT");
  }
  if (!done) {
    // What went wrong is the news; the connection is closed next, and with it all that is left.
    static_cast<void>(database.run("ROLLBACK"));
  }
  return done;
}

std::string script(const std::vector<LogObject>& missing, const std::vector<std::string>& others) {
  std::string sql;
  if (missing.empty()) {
    sql += "-- The trigger log is installed: nothing to do.\n";
  } else {
    sql += "BEGIN IMMEDIATE;\n" + creation_sql(missing) + "COMMIT;\n";
  }
  for (const std::string& other : others) {
    sql +=
        "-- Not needed by this configuration; if no other guard needs it:\n"
        "-- DROP TRIGGER " +
        quoted_identifier(other) + ";\n";
  }
  return sql;
}

}  // namespace

Planned<std::vector<LogObject>> missing_log(const Database& database,
                                            std::span<const Target> targets) {
  const auto wanted = TRY(wanted_log(database, targets));
  return missing_objects(database, wanted);
}

Done install_trigger_log(const std::string& path,
                         std::span<const Target> targets,
                         std::chrono::milliseconds patience) {
  const auto database = TRY(Database::open_to_write(path, patience));
  return install_in(database, targets);
}

std::expected<std::string, std::vector<Refusal>> trigger_log_sql(const std::string& path,
                                                                 std::span<const Target> targets) {
  DatabaseOrigin origin(path);
  if (auto refusals = origin.check(targets); !refusals.empty()) {
    return std::unexpected(std::move(refusals));
  }
  std::string sql;
  const auto read = [&](const Database& database) -> Done {
    const auto wanted = wanted_log(database, targets);
    if (!wanted) {
      return std::unexpected(error_of(wanted.error()));
    }
    const auto missing = TRY(missing_objects(database, *wanted));
    const auto others = TRY(other_triggers(database, *wanted));
    sql = script(missing, others);
    return {};
  };
  const Snapshot taken = origin.take(read, {});
  if (taken.kind != Snapshot::Kind::taken) {
    return std::unexpected(std::vector{Refusal{.ns = "", .what = taken.why}});
  }
  return sql;
}

std::string how_to_install(std::string_view path) {
  return "review the SQL that `cuckooguard triggers --config FILE` prints and run it on " +
         std::string(path) + ", or set install_triggers: true, or follow: rescan";
}

}  // namespace cuckooguard::source::sqlite
