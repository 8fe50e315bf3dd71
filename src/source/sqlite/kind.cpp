#include "sqlite/kind.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "config/table_pattern.h"
#include "source/chosen_deletes.h"
#include "sqlite/database.h"
#include "sqlite/log_follower.h"
#include "sqlite/origin.h"
#include "sqlite/table.h"
#include "sqlite/tables.h"
#include "sqlite/trigger_log.h"
#include "text/try.h"

namespace cuckooguard::source::sqlite {
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
        refusals.push_back({.ns = target.settings.name,
                            .what = "table: " + table +
                                    " is a pattern, which this type of source cannot follow yet; "
                                    "name the tables in a list"});
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
                           .is_server = false,
                           .check = check,
                           .make = make,
                           .count_rows = count_rows,
                           .list_tables = list_tables};

}  // namespace cuckooguard::source::sqlite
