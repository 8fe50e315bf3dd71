#include "postgres/kind.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "follow/server_kind.h"
#include "keyspace/canonical_text.h"
#include "keyspace/identity.h"
#include "postgres/log_follower.h"
#include "postgres/server.h"
#include "source/storage_directory.h"
#include "text/try.h"

namespace cuckooguard::source::postgres {
namespace {

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

using SlotKind = config::ReplicationSlot::Kind;

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
std::string slot_of(const SourceSettings& making, const config::ReplicationSlot& slot) {
  const StorageDirectory* const directory = making.storage.directory;
  if (directory == nullptr || slot.kind == SlotKind::temporary) {
    return slot.kind == SlotKind::named ? slot.name : "";
  }
  return slot.kind == SlotKind::named ? slot.name
                                      : slot_name(making.settings.name, directory->own_secret());
}

struct Kind {
  using Log = postgres::Log;
  using Config = config::PostgresSource;

  static constexpr std::array kBeginReading{
      "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"};

  static LogFollowerSettings following(const SourceSettings& making) {
    const Config& settings = ServerKind<Kind>::own(making.settings);
    return {.login = login_to(settings),
            .place = place_of(settings),
            .slot = slot_of(making, settings.slot),
            .asking = making.asking(pace_of(making.targets))};
  }
  static TableReaderSettings reader_settings(const Config& settings) {
    return {.place = place_of(settings)};
  }
  static Login first_login(const Config& settings) { return login_to(settings); }

  static std::expected<Connection, std::string> connect(const Config& settings) {
    return in_words(Connection::open(login_to(settings)));
  }

  static std::string account_sql(const Config& settings, const Error& refusal) {
    return postgres::account_sql(settings, refusal);
  }
  static Expected<std::vector<KeyedTable>> keyed_tables(Connection& connection,
                                                        const Config& settings) {
    return list_keyed_tables(connection, place_of(settings));
  }

  static std::optional<Expected<Rows>> rows_like(Connection& connection,
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
    return connection.stream(
        "COPY (" + sql + " LIMIT " + std::to_string(RowLookup::kRowsMax) + ") TO STDOUT",
        plan.needed().size());
  }
};

// A slot that is not named is not known here: it is asked for by a name that no slot has.
std::vector<Refusal> check(const config::Source& settings,
                           std::span<const Target> targets,
                           const Clock& /*clock*/) {
  const config::PostgresSource& source = ServerKind<Kind>::own(settings);
  return LogFollower::check(login_to(source), place_of(source), source.slot.name, targets);
}

// A slot that is kept has one reader.
config::Source beside(config::Source settings) {
  std::get<config::PostgresSource>(settings.kind).slot = {.kind = SlotKind::temporary};
  return settings;
}

}  // namespace

constexpr SourceKind kKind{.name = "postgres",
                           .is = is_of<config::PostgresSource>,
                           .is_server = true,
                           .beside = beside,
                           .check = check,
                           .make = ServerKind<Kind>::make,
                           .reached = ServerKind<Kind>::reached,
                           .count_rows = ServerKind<Kind>::count_rows,
                           .rows = ServerKind<Kind>::rows,
                           .list_tables = ServerKind<Kind>::list_tables};

}  // namespace cuckooguard::source::postgres
