#include "sqlite/trigger_install.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "sqlite/origin.h"
#include "text/try.h"

namespace cuckooguard::source::sqlite {
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
    sql += "-- The trigger log is there: nothing to do.\n";
  } else {
    sql += "BEGIN IMMEDIATE;\n" + creation_sql(missing) + "COMMIT;\n";
  }
  for (const std::string& other : others) {
    sql += "-- Not asked for by this configuration; if no other guard needs it:\n-- DROP TRIGGER " +
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
  return "look at what `cuckooguard triggers --config FILE` prints and run it on " +
         std::string(path) + ", or set install_triggers: true, or follow: rescan";
}

}  // namespace cuckooguard::source::sqlite
