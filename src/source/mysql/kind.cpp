#include "mysql/kind.h"

#include <array>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "follow/server_kind.h"
#include "keyspace/identity.h"
#include "mysql/log_follower.h"
#include "mysql/server.h"
#include "source/uuid_bytes.h"
#include "text/hex.h"

namespace cuckooguard::source::mysql {
namespace {

// In a form that the column is compared with by its own rules, so that its index serves.
std::string literal(const Connection& connection, const Column& column, std::string_view value) {
  return column.type() == ColumnKind::bytes ? "X'" + text::hex_of(value) + "'"
                                            : "'" + connection.escaped(value) + "'";
}

std::vector<Login> logins_to(const config::MysqlSource& settings) {
  std::vector<Login> logins;
  logins.reserve(settings.addresses.size());
  for (const config::Address& address : settings.addresses) {
    logins.push_back(login_to(settings, address));
  }
  return logins;
}

struct Kind {
  using Log = mysql::Log;
  using Config = config::MysqlSource;

  static constexpr std::array kBeginReading{"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
                                            "START TRANSACTION READ ONLY"};

  static LogFollowerSettings following(const SourceSettings& making) {
    const Config& settings = ServerKind<Kind>::own(making.settings);
    return {.logins = logins_to(settings),
            .server_id = settings.server_id,
            .asking = making.asking(ServerProbe::kPace)};
  }
  static TableReaderSettings reader_settings(const Config& /*settings*/) { return {}; }
  static Login first_login(const Config& settings) {
    return login_to(settings, settings.addresses.front());
  }

  // The first that lets us in; those that a guard would ask one after the other, too.
  static std::expected<Connection, std::string> connect(const Config& settings) {
    std::string why;
    for (const config::Address& address : settings.addresses) {
      auto connection = Connection::open(login_to(settings, address));
      if (connection) {
        return *std::move(connection);
      }
      const bool is_named = connection.error().is_lost();
      why += (why.empty() ? "" : "; ") + (is_named ? "" : address.text() + ": ") +
             connection.error().what;
    }
    return std::unexpected(why);
  }

  static std::string account_sql(const Config& settings, const Error& refusal) {
    return mysql::account_sql(settings, refusal.what);
  }
  static Expected<std::vector<KeyedTable>> keyed_tables(Connection& connection,
                                                        const Config& /*settings*/) {
    return list_keyed_tables(connection);
  }

  static std::optional<Expected<Rows>> rows_like(Connection& connection,
                                                 const Target& /*target*/,
                                                 const TablePlan& plan,
                                                 std::string_view identity) {
    const auto wanted = keyspace::values_of_identity(identity, plan.identity.size());
    std::string sql = plan.select_sql();
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const Column& column = plan.columns[plan.identity[i]];
      sql += (i == 0 ? " WHERE " : " AND ") + quoted_name(column.name) + " = " +
             (plan.is_uuid(column.ordinal) ? "X'" + hex_of_uuid(wanted[i], plan.uuid_order) + "'"
                                           : literal(connection, column, wanted[i]));
    }
    return connection.stream(sql + " LIMIT " + std::to_string(RowLookup::kRowsMax));
  }
};

std::vector<Refusal> check(const config::Source& settings,
                           std::span<const Target> targets,
                           const Clock& /*clock*/) {
  return LogFollower::check(logins_to(ServerKind<Kind>::own(settings)), targets);
}

// Two replicas with one server_id throw each other out.
bool runs_alone(const config::Source& settings) {
  return ServerKind<Kind>::own(settings).server_id.has_value();
}

}  // namespace

constexpr SourceKind kKind{.name = "mysql",
                           .is = is_of<config::MysqlSource>,
                           .is_server = true,
                           .runs_alone = runs_alone,
                           .check = check,
                           .make = ServerKind<Kind>::make,
                           .reached = ServerKind<Kind>::reached,
                           .count_rows = ServerKind<Kind>::count_rows,
                           .rows = ServerKind<Kind>::rows,
                           .list_tables = ServerKind<Kind>::list_tables};

}  // namespace cuckooguard::source::mysql
