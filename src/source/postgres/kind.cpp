#include "postgres/kind.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "follow/followed_server.h"
#include "follow/log_row_lookup.h"
#include "keyspace/canonical_integer.h"
#include "keyspace/canonical_text.h"
#include "keyspace/identity.h"
#include "postgres/connection.h"
#include "postgres/log.h"
#include "postgres/log_follower.h"
#include "postgres/server.h"
#include "postgres/slot_name.h"
#include "postgres/table.h"
#include "source/chosen_deletes.h"
#include "source/row_lookup.h"
#include "source/storage_directory.h"

namespace cuckooguard::source::postgres {
namespace {

// Asks the server that is followed for rows (source/row_lookup.h).

constexpr const char* kBeginReading =
    "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY";
constexpr std::uint32_t kText = 25;
constexpr std::uint32_t kVarchar = 1043;

// That a column of a row may have this value; nothing: it can have it in no row. In a form that the
// column is compared with by its own rules, so that its index serves, where it has one that does.
std::optional<std::string> may_be(const Connection& connection,
                                  const Column& column,
                                  const keyspace::Placeholder& placeholder,
                                  std::string_view value) {
  const std::string name = quoted_name(column.name);
  if (column.type == ColumnKind::integer) {  // of any width, which '70000' is not
    return keyspace::canonical_int64(value) ? std::optional(name + " = " + std::string(value))
                                            : std::nullopt;
  }
  if (value.contains('\0') || (keyspace::is_of_own_type(placeholder.type) &&
                               !keyspace::is_canonical(placeholder.type, value))) {
    return std::nullopt;
  }
  const std::string literal = connection.quoted(value);
  if (placeholder.type == keyspace::ValueType::text_ci && column.type != ColumnKind::folded_text) {
    return "pg_catalog.lower(" + name + "::pg_catalog.text) = pg_catalog.lower(" + literal + ")";
  }
  const bool is_enum = column.type == ColumnKind::text && column.type_oid != kText &&
                       column.type_oid != kVarchar;  // which refuses what is none of its labels
  return name + (is_enum ? "::pg_catalog.text = " : " = ") + literal;
}

class ServerRowLookup final : public LogRowLookup<Log> {
 public:
  ServerRowLookup(std::shared_ptr<const FollowedServer<Login>> server,
                  Place place,
                  std::vector<Target> targets)
      : LogRowLookup(std::move(targets)), server_(std::move(server)), place_(std::move(place)) {}

 private:
  Has look(const Target& target, std::string_view identity, const std::stop_token& stop) override {
    auto server = server_->known();
    if (!server) {
      return std::unexpected("no server is followed yet");
    }
    server->login.timeout = kTimeout;
    auto connection = Connection::open_same(server->login, server->identity);
    if (!connection) {
      return std::unexpected(connection.error().what);
    }
    const std::stop_callback wake(stop, [&connection] { connection->interrupt(); });
    if (const auto begun = connection->run(kBeginReading); !begun) {
      return std::unexpected(begun.error().what);
    }
    const auto tables = list_tables(*connection, place_, target.settings.source.tables);
    if (!tables) {
      return std::unexpected(words_of(tables.error()));
    }
    for (const std::string& table : *tables) {
      const Has has = table_has(*connection, target, table, identity);
      if (!has || *has) {
        return has;
      }
    }
    return false;
  }

  Has table_has(Connection& connection,
                const Target& target,
                const std::string& table,
                std::string_view identity) {
    const auto plan = plan_table(connection, place_, target, table);
    if (!plan) {
      return std::unexpected(words_of(plan.error()));
    }
    const auto sql = question(connection, target, *plan, identity);
    if (!sql) {
      return false;
    }
    return is_among(connection.stream(*sql, plan->needed().size()), target, *plan, identity);
  }

  // Nothing: no row can have it.
  static std::optional<std::string> question(const Connection& connection,
                                             const Target& target,
                                             const TablePlan& plan,
                                             std::string_view identity) {
    const auto wanted = keyspace::values_of_identity(identity, plan.identity.size());
    const auto names = target.keyspace.identity_columns(target.ns);
    const auto placeholders = target.keyspace.templates(target.ns).front().placeholders();
    std::string sql = plan.select_sql();
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const auto placeholder =
          std::ranges::find(placeholders, names[i], &keyspace::Placeholder::name);
      const auto term = may_be(connection, plan.columns[plan.identity[i]], *placeholder, wanted[i]);
      if (!term) {
        return std::nullopt;
      }
      sql += (i == 0 ? " WHERE " : " AND ") + *term;
    }
    return "COPY (" + sql + " LIMIT " + std::to_string(kRowsMax) + ") TO STDOUT";
  }

  std::shared_ptr<const FollowedServer<Login>> server_;
  Place place_;
};

std::unique_ptr<RowLookup> make_row_lookup(std::shared_ptr<const FollowedServer<Login>> server,
                                           Place place,
                                           std::vector<Target> targets) {
  return std::make_unique<ServerRowLookup>(std::move(server), std::move(place), std::move(targets));
}

using SlotKind = config::ReplicationSlot::Kind;

const config::PostgresSource& own(const config::Source& settings) {
  return std::get<config::PostgresSource>(settings.kind);
}

Place place_of(const config::PostgresSource& settings) {
  return {.schema = settings.schema, .publication = settings.publication};
}

std::chrono::milliseconds pace_of(std::span<const Target> targets) {
  std::size_t tables = 0;
  for (const Target& target : targets) {
    tables += target.settings.source.tables.size();
  }
  return ServerProbe::pace_of(tables);
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
  return LogFollower::check(login_to(source), place_of(source), source.slot.name, targets);
}

std::expected<SourceParts, std::vector<Refusal>> make(const SourceSettings& making) {
  const config::PostgresSource& source = own(making.settings);
  LogFollowerSettings following{.name = making.settings.name,
                                .login = login_to(source),
                                .place = place_of(source),
                                .slot = slot_of(making),
                                .max_lag = making.settings.max_lag,
                                .storage = making.storage,
                                .observer = &making.observer,
                                .followed = std::make_shared<FollowedServer<Login>>(),
                                .asking = making.asking(pace_of(making.targets))};
  auto rows = make_row_lookup(following.followed, following.place, making.copied_targets());
  return SourceParts{
      .follower = std::make_unique<LogFollower>(std::move(following), making.feeds(), making.clock),
      .rows = std::move(rows)};
}

std::expected<std::vector<TableSize>, std::string> count_rows(const config::Source& settings,
                                                              const Target& target) {
  auto connection = Connection::open(login_to(own(settings)));
  if (!connection) {
    return std::unexpected(connection.error().what);
  }
  const Place place = place_of(own(settings));
  const auto tables = list_tables(*connection, place, target.settings.source.tables);
  if (!tables) {
    return std::unexpected(words_of(tables.error()));
  }
  std::vector<TableSize> sizes;
  for (const std::string& table : *tables) {
    const auto plan = plan_table(*connection, place, target, table);
    if (!plan) {
      return std::unexpected(words_of(plan.error()));
    }
    const auto size = size_of_table(*connection, *plan);
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
  auto connection = Connection::open(login_to(settings));
  if (!connection) {
    const Error& error = connection.error();
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

constexpr SourceKind kKind{
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

}  // namespace cuckooguard::source::postgres
