#include "sqlite/kind.h"

#include <span>
#include <utility>
#include <variant>

#include "config/table_pattern.h"
#include "keyspace/identity.h"
#include "source/filter_load.h"
#include "source/uuid_bytes.h"
#include "sqlite/database.h"
#include "sqlite/log_follower.h"
#include "sqlite/origin.h"
#include "sqlite/rows.h"
#include "sqlite/table.h"
#include "sqlite/trigger_log.h"
#include "text/try.h"

namespace cuckooguard::source::sqlite {

namespace {

// A column without a type keeps each value as it was given, and finds it as that alone: so it is
// asked for all three.
std::string where_sql(const TablePlan& plan, std::span<const std::string_view> values) {
  std::string sql;
  for (std::size_t i = 0; i < plan.columns.size(); ++i) {
    const std::string value = "?" + std::to_string(i + 1);
    sql.append(i == 0 ? " WHERE " : " AND ").append(quoted_identifier(plan.columns[i].name));
    if (plan.columns[i].is_uuid) {
      sql.append(" = X'").append(hex_of_uuid(values[i], plan.uuid_order)).append("'");
      continue;
    }
    sql.append(" IN (").append(value).append(", CAST(").append(value);
    sql.append(" AS BLOB), CAST(").append(value).append(" AS INTEGER))");
  }
  return sql + " LIMIT " + std::to_string(RowLookup::kRowsMax);
}

class DatabaseRowLookup final : public RowLookup {
 public:
  DatabaseRowLookup(std::string path, std::vector<Target> targets)
      : RowLookup(std::move(targets)), path_(std::move(path)) {}

 private:
  Has look(const Target& target, std::string_view identity, const std::stop_token& stop) override {
    const auto database = TRY(in_words(Database::open_read_only(path_)));
    const std::stop_callback wake(stop, [&database] { database.interrupt(); });
    TRY(in_words(database.run("BEGIN")));
    const auto tables = TRY(in_words(list_tables(database, target.settings.source.tables)));
    for (const std::string& table : tables) {
      const Has has = table_has(database, target, table, identity);
      if (!has || *has) {
        return has;
      }
    }
    return false;
  }

  Has table_has(const Database& database,
                const Target& target,
                const std::string& table,
                std::string_view identity) {
    const auto plan = TRY(in_words(plan_table(database, target, table)));
    const auto values = keyspace::values_of_identity(identity, plan.columns.size());
    auto statement = TRY(in_words(database.prepare(plan.select_sql() + where_sql(plan, values))));
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!plan.columns[i].is_uuid) {
        statement.bind(static_cast<int>(i) + 1, values[i]);
      }
    }
    Row row(plan);
    for (std::size_t seen = 0; seen < kRowsMax; ++seen) {
      if (!TRY(in_words(statement.step()))) {
        return false;
      }
      if (row.read(statement) && row.counts() && is_it(target, row.values(), identity)) {
        return true;
      }
    }
    return std::unexpected("too many rows compare equal to it");
  }

  std::string path_;
};

}  // namespace

std::unique_ptr<RowLookup> make_row_lookup(std::string path, std::vector<Target> targets) {
  return std::make_unique<DatabaseRowLookup>(std::move(path), std::move(targets));
}

namespace {

const config::SqliteSource& own(const config::Source& settings) {
  return std::get<config::SqliteSource>(settings.kind);
}

// A configuration that is wrong whatever the database is.
std::vector<Refusal> refuse_patterns(std::span<const Target> targets) {
  std::vector<Refusal> refusals;
  for (const Target& target : targets) {
    for (const std::string& table : target.settings.source.tables) {
      if (config::is_table_pattern(table)) {
        refusals.push_back(
            {.ns = target.settings.name,
             .what =
                 "table: " + table +
                 " is a pattern, which this type of source does not support yet; list the tables"});
      }
    }
  }
  return refusals;
}

LogFollowerSettings following_of(const config::SqliteSource& settings, Asking asking = {}) {
  return {.path = settings.path,
          .install_triggers = settings.install_triggers,
          .poll_every = settings.poll_every,
          .asking = asking};
}

std::vector<Refusal> check(const config::Source& source,
                           std::span<const Target> targets,
                           const Clock& /*clock*/) {
  const config::SqliteSource& settings = own(source);
  return settings.follow == config::Follow::rescan
             ? DatabaseOrigin(settings.path).check(targets)
             : LogFollower::check(following_of(settings), targets);
}

std::expected<SourceParts, std::vector<Refusal>> make(const SourceSettings& making) {
  const config::SqliteSource& settings = own(making.settings);
  auto rows = make_row_lookup(settings.path, making.copied_targets());
  if (settings.follow == config::Follow::rescan) {
    return SourceParts{
        .follower = make_rescan(
            std::make_unique<DatabaseOrigin>(settings.path), settings.poll_every, true, making),
        .rows = std::move(rows)};
  }
  if (auto refusals = refuse_patterns(making.targets); !refusals.empty()) {
    return std::unexpected(std::move(refusals));
  }
  return SourceParts{
      .follower = std::make_unique<LogFollower>(
          following_of(settings, making.asking(kLookPace)), making.feeds(), making.clock),
      .rows = std::move(rows)};
}

std::expected<std::vector<TableSize>, std::string> count_rows(const config::Source& source,
                                                              const Target& target) {
  const config::SqliteSource& settings = own(source);
  const auto database = Database::open_read_only(settings.path);
  if (!database) {
    return std::unexpected(settings.path + ": " + database.error().what);
  }
  const auto tables = TRY(in_words(list_tables(*database, target.settings.source.tables)));
  std::vector<TableSize> sizes;
  for (const std::string& table : tables) {
    const auto plan = TRY(in_words(plan_table(*database, target, table)));
    const auto rows = TRY(in_words(count(*database, plan.count_sql())));
    TableSize& size = sizes.emplace_back(TableSize{.table = plan.table, .rows = rows});
    if (settings.follow == config::Follow::triggers) {
      const auto logged = TRY(in_words(plan_logged_table(*database, target, table)));
      size.deletes = chosen_deletes(target.settings.filter.deletes, logged.identity_is_unique);
    }
  }
  return sizes;
}

std::unique_ptr<RowLookup> rows(const config::Source& settings, std::span<const Target> targets) {
  return make_row_lookup(own(settings).path, {targets.begin(), targets.end()});
}

std::expected<std::vector<KeyedTable>, std::string> list_tables(const config::Source& source) {
  const std::string& path = own(source).path;
  const auto database = Database::open_read_only(path);
  if (!database) {
    return std::unexpected(path + ": " + database.error().what);
  }
  auto tables = list_keyed_tables(*database);
  if (!tables) {
    return std::unexpected(path + ": " + tables.error().what);
  }
  return *std::move(tables);
}

}  // namespace

constexpr SourceKind kKind{.name = "sqlite",
                           .is = is_of<config::SqliteSource>,
                           .check = check,
                           .make = make,
                           .count_rows = count_rows,
                           .rows = rows,
                           .list_tables = list_tables};

}  // namespace cuckooguard::source::sqlite
