#include "mysql/kind.h"

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "follow/followed_server.h"
#include "follow/log_row_lookup.h"
#include "keyspace/identity.h"
#include "mysql/connection.h"
#include "mysql/log.h"
#include "mysql/log_follower.h"
#include "mysql/server.h"
#include "mysql/server_probe.h"
#include "mysql/table.h"
#include "mysql/tables.h"
#include "source/chosen_deletes.h"
#include "source/row_lookup.h"
#include "source/uuid_bytes.h"

namespace cuckooguard::source::mysql {
namespace {

// Asks the server that is followed for rows (source/row_lookup.h).

std::string hexadecimal(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    text += kDigits[value / kDigits.size()];
    text += kDigits[value % kDigits.size()];
  }
  return text;
}

// In a form that the column is compared with by its own rules, so that its index serves.
std::string literal(const Connection& connection, const Column& column, std::string_view value) {
  return column.type() == ColumnKind::bytes ? "X'" + hexadecimal(value) + "'"
                                            : "'" + connection.escaped(value) + "'";
}

class ServerRowLookup final : public LogRowLookup<Log> {
 public:
  ServerRowLookup(std::shared_ptr<const FollowedServer<Login>> server, std::vector<Target> targets)
      : LogRowLookup(std::move(targets)), server_(std::move(server)) {}

 private:
  Has look(const Target& target, std::string_view identity, const std::stop_token& stop) override {
    auto server = server_->known();
    if (!server) {
      return std::unexpected("no server is followed yet");
    }
    server->login.timeout = kTimeout;
    auto connection = open_same_server(server->login, server->identity);
    if (!connection) {
      return std::unexpected(connection.error().what);
    }
    const std::stop_callback wake(stop, [&connection] { connection->interrupt(); });
    for (const char* const sql :
         {"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", "START TRANSACTION READ ONLY"}) {
      if (const auto done = connection->run(sql); !done) {
        return std::unexpected(done.error().what);
      }
    }
    const auto tables = list_tables(*connection, target.settings.source.tables);
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
    const auto plan = plan_table(connection, target, table);
    if (!plan) {
      return std::unexpected(words_of(plan.error()));
    }
    const auto wanted = keyspace::values_of_identity(identity, plan->identity.size());
    std::string sql = plan->select_sql();
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const Column& column = plan->columns[plan->identity[i]];
      sql += (i == 0 ? " WHERE " : " AND ") + quoted_name(column.name) + " = " +
             (plan->is_uuid(column.ordinal) ? "X'" + hex_of_uuid(wanted[i], plan->uuid_order) + "'"
                                            : literal(connection, column, wanted[i]));
    }
    return is_among(
        connection.stream(sql + " LIMIT " + std::to_string(kRowsMax)), target, *plan, identity);
  }

  std::shared_ptr<const FollowedServer<Login>> server_;
};

std::unique_ptr<RowLookup> make_row_lookup(std::shared_ptr<const FollowedServer<Login>> server,
                                           std::vector<Target> targets) {
  return std::make_unique<ServerRowLookup>(std::move(server), std::move(targets));
}

const config::MysqlSource& own(const config::Source& settings) {
  return std::get<config::MysqlSource>(settings.kind);
}

std::vector<Login> logins_to(const config::MysqlSource& settings) {
  std::vector<Login> logins;
  logins.reserve(settings.addresses.size());
  for (const config::Address& address : settings.addresses) {
    logins.push_back(login_to(settings, address));
  }
  return logins;
}

std::vector<Refusal> check(const config::Source& settings,
                           std::span<const Target> targets,
                           const Clock& /*clock*/) {
  return LogFollower::check(logins_to(own(settings)), targets);
}

std::expected<SourceParts, std::vector<Refusal>> make(const SourceSettings& making) {
  LogFollowerSettings following{.name = making.settings.name,
                                .logins = logins_to(own(making.settings)),
                                .server_id = own(making.settings).server_id,
                                .max_lag = making.settings.max_lag,
                                .storage = making.storage,
                                .observer = &making.observer,
                                .followed = std::make_shared<FollowedServer<Login>>(),
                                .asking = making.asking(ServerProbe::kPace)};
  auto rows = make_row_lookup(following.followed, making.copied_targets());
  return SourceParts{
      .follower = std::make_unique<LogFollower>(std::move(following), making.feeds(), making.clock),
      .rows = std::move(rows)};
}

// The first that lets us in; those that a guard would ask one after the other, too.
std::expected<Connection, std::string> connect(const config::MysqlSource& settings) {
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

std::expected<std::vector<TableSize>, std::string> count_rows(const config::Source& settings,
                                                              const Target& target) {
  auto connection = connect(own(settings));
  if (!connection) {
    return std::unexpected(connection.error());
  }
  const auto tables = list_tables(*connection, target.settings.source.tables);
  if (!tables) {
    return std::unexpected(words_of(tables.error()));
  }
  std::vector<TableSize> sizes;
  for (const std::string& table : *tables) {
    const auto plan = plan_table(*connection, target, table);
    if (!plan) {
      return std::unexpected(words_of(plan.error()));
    }
    const auto size = size_of_table(*connection, plan->name);
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
  const config::MysqlSource& settings = own(source);
  auto connection = Connection::open(login_to(settings, settings.addresses.front()));
  if (!connection) {
    const Error& error = connection.error();
    return std::unexpected(
        error.is_refusal() ? error.what + "\n" + account_sql(settings, error.what) : error.what);
  }
  auto tables = list_keyed_tables(*connection);
  if (!tables) {
    return std::unexpected(tables.error().what);
  }
  return *std::move(tables);
}

}  // namespace

constexpr SourceKind kKind{
    .name = "mysql",
    .is = is_of<config::MysqlSource>,
    .is_server = true,
    // Two replicas with one server_id throw each other out.
    .runs_alone =
        [](const config::Source& settings) { return own(settings).server_id.has_value(); },
    .check = check,
    .make = make,
    .count_rows = count_rows,
    .list_tables = list_tables};

}  // namespace cuckooguard::source::mysql
