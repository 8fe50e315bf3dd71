#include "postgres/row_lookup.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "follow/log_row_lookup.h"
#include "keyspace/canonical_integer.h"
#include "keyspace/canonical_text.h"
#include "keyspace/identity.h"
#include "postgres/log.h"

namespace cuckooguard::source {
namespace {

constexpr const char* kBeginReading =
    "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY";
constexpr std::uint32_t kText = 25;
constexpr std::uint32_t kVarchar = 1043;

// That a column of a row may have this value; nothing: it can have it in no row. In a form that the
// column is compared with by its own rules, so that its index serves, where it has one that does.
std::optional<std::string> may_be(const PostgresConnection& connection,
                                  const PostgresColumn& column,
                                  const keyspace::Placeholder& placeholder,
                                  std::string_view value) {
  const std::string name = quoted_postgres_name(column.name);
  if (column.type == PostgresType::integer) {  // of any width, which '70000' is not
    return keyspace::canonical_int64(value) ? std::optional(name + " = " + std::string(value))
                                            : std::nullopt;
  }
  if (value.contains('\0') || (keyspace::is_of_own_type(placeholder.type) &&
                               !keyspace::is_canonical(placeholder.type, value))) {
    return std::nullopt;
  }
  const std::string literal = connection.quoted(value);
  if (placeholder.type == keyspace::ValueType::text_ci &&
      column.type != PostgresType::folded_text) {
    return "pg_catalog.lower(" + name + "::pg_catalog.text) = pg_catalog.lower(" + literal + ")";
  }
  const bool is_enum = column.type == PostgresType::text && column.type_oid != kText &&
                       column.type_oid != kVarchar;  // which refuses what is none of its labels
  return name + (is_enum ? "::pg_catalog.text = " : " = ") + literal;
}

class PostgresRowLookup final : public LogRowLookup<PostgresLog> {
 public:
  PostgresRowLookup(std::shared_ptr<const FollowedServer<PostgresLogin>> server,
                    PostgresPlace place,
                    std::vector<Target> targets)
      : LogRowLookup(std::move(targets)), server_(std::move(server)), place_(std::move(place)) {}

 private:
  Has look(const Target& target, std::string_view identity, const std::stop_token& stop) override {
    auto server = server_->known();
    if (!server) {
      return std::unexpected("no server is followed yet");
    }
    server->login.timeout = kTimeout;
    auto connection = PostgresConnection::open_same(server->login, server->identity);
    if (!connection) {
      return std::unexpected(connection.error().what);
    }
    const std::stop_callback wake(stop, [&connection] { connection->interrupt(); });
    if (const auto begun = connection->run(kBeginReading); !begun) {
      return std::unexpected(begun.error().what);
    }
    const auto tables = list_postgres_tables(*connection, place_, target.settings.source.tables);
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

  Has table_has(PostgresConnection& connection,
                const Target& target,
                const std::string& table,
                std::string_view identity) {
    const auto plan = plan_postgres_table(connection, place_, target, table);
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
  static std::optional<std::string> question(const PostgresConnection& connection,
                                             const Target& target,
                                             const PostgresTable& plan,
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

  std::shared_ptr<const FollowedServer<PostgresLogin>> server_;
  PostgresPlace place_;
};

}  // namespace

std::unique_ptr<RowLookup> make_postgres_row_lookup(
    std::shared_ptr<const FollowedServer<PostgresLogin>> server,
    PostgresPlace place,
    std::vector<Target> targets) {
  return std::make_unique<PostgresRowLookup>(
      std::move(server), std::move(place), std::move(targets));
}

}  // namespace cuckooguard::source
