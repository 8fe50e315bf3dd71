#include "postgres/kind.h"

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <variant>

#include "postgres/connection.h"
#include "postgres/log_follower.h"
#include "postgres/row_lookup.h"
#include "postgres/server.h"
#include "postgres/slot_name.h"
#include "postgres/table.h"
#include "source/chosen_deletes.h"
#include "source/storage_directory.h"

namespace cuckooguard::source {
namespace {

using SlotKind = config::ReplicationSlot::Kind;

const config::PostgresSource& own(const config::Source& settings) {
  return std::get<config::PostgresSource>(settings.kind);
}

PostgresPlace place_of(const config::PostgresSource& settings) {
  return {.schema = settings.schema, .publication = settings.publication};
}

std::chrono::milliseconds pace_of(std::span<const Target> targets) {
  std::size_t tables = 0;
  for (const Target& target : targets) {
    tables += target.settings.source.tables.size();
  }
  return PostgresProbe::pace_of(tables);
}

// Empty: a temporary one. Without storage nothing could be taken up that a slot has kept.
std::string slot_of(const SourceSettings& making) {
  const config::ReplicationSlot& slot = own(making.settings).slot;
  const StorageDirectory* const directory = making.storage.directory;
  if (directory == nullptr || slot.kind == SlotKind::temporary) {
    return slot.kind == SlotKind::named ? slot.name : "";
  }
  return slot.kind == SlotKind::named ? slot.name
                                      : slot_name(making.settings.name, directory->secret());
}

// That of an automatic one is not known here: it is asked for by a name that no slot has.
std::vector<Refusal> check(const config::Source& settings,
                           std::span<const Target> targets,
                           const Clock& /*clock*/) {
  const config::PostgresSource& source = own(settings);
  return PostgresFollower::check(login_to(source), place_of(source), source.slot.name, targets);
}

std::expected<SourceParts, std::vector<Refusal>> make(const SourceSettings& making) {
  const config::PostgresSource& source = own(making.settings);
  PostgresFollowerSettings following{.name = making.settings.name,
                                     .login = login_to(source),
                                     .place = place_of(source),
                                     .slot = slot_of(making),
                                     .max_lag = making.settings.max_lag,
                                     .storage = making.storage,
                                     .observer = &making.observer,
                                     .followed = std::make_shared<FollowedServer<PostgresLogin>>(),
                                     .asking = making.asking(pace_of(making.targets))};
  auto rows =
      make_postgres_row_lookup(following.followed, following.place, making.copied_targets());
  return SourceParts{.follower = std::make_unique<PostgresFollower>(
                         std::move(following), making.feeds(), making.clock),
                     .rows = std::move(rows)};
}

std::expected<std::vector<TableSize>, std::string> count_rows(const config::Source& settings,
                                                              const Target& target) {
  auto connection = PostgresConnection::open(login_to(own(settings)));
  if (!connection) {
    return std::unexpected(connection.error().what);
  }
  const PostgresPlace place = place_of(own(settings));
  const auto tables = list_postgres_tables(*connection, place, target.settings.source.tables);
  if (!tables) {
    return std::unexpected(words_of(tables.error()));
  }
  std::vector<TableSize> sizes;
  for (const std::string& table : *tables) {
    const auto plan = plan_postgres_table(*connection, place, target, table);
    if (!plan) {
      return std::unexpected(words_of(plan.error()));
    }
    const auto size = size_of_postgres_table(*connection, *plan);
    if (!size) {
      return std::unexpected(size.error().what);
    }
    sizes.push_back(
        {.table = plan->name,
         .rows = size->rows,
         .is_estimate = true,
         .deletes = chosen_deletes(target.settings.filter.deletes, plan->identity_is_unique)});
  }
  return sizes;
}

std::expected<std::vector<KeyedTable>, std::string> list_tables(const config::Source& source) {
  const config::PostgresSource& settings = own(source);
  auto connection = PostgresConnection::open(login_to(settings));
  if (!connection) {
    const PostgresError& error = connection.error();
    return std::unexpected(error.is_refusal() ? error.what + "\n" + account_sql(settings)
                                              : error.what);
  }
  auto tables = list_keyed_tables(*connection, place_of(settings));
  if (!tables) {
    return std::unexpected(tables.error().what);
  }
  return *std::move(tables);
}

}  // namespace

constexpr SourceKind kPostgres{
    .name = "postgres",
    .is = is_of<config::PostgresSource>,
    .is_server = true,
    // A slot that is kept has one reader.
    .beside =
        [](config::Source settings) {
          std::get<config::PostgresSource>(settings.kind).slot = {.kind = SlotKind::temporary};
          return settings;
        },
    .check = check,
    .make = make,
    .count_rows = count_rows,
    .list_tables = list_tables};

}  // namespace cuckooguard::source
