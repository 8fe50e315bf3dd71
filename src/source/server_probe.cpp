#include "source/server_probe.h"

#include <exception>
#include <utility>

#include "source/mysql_server.h"
#include "source/pause.h"

namespace cuckooguard::source {

std::expected<std::string, MysqlError> server_identity(MysqlConnection& connection) {
  const auto found = connection.ask(
      "SHOW GLOBAL VARIABLES WHERE variable_name IN ('server_id', 'server_uuid', 'server_uid', "
      "'hostname', 'port')");
  if (!found) {
    return std::unexpected(found.error());
  }
  std::string identity;
  for (const auto& row : *found) {
    identity += row[0].value_or("") + "=" + row[1].value_or("") + " ";
  }
  return identity;
}

std::expected<MysqlConnection, MysqlError> open_same_server(const MysqlLogin& login,
                                                            std::string_view identity) {
  auto connection = MysqlConnection::open(login);
  if (!connection) {
    return connection;
  }
  const auto found = server_identity(*connection);
  if (!found) {
    return std::unexpected(found.error());
  }
  if (*found != identity) {
    return failed("the address leads to several servers: now to " + *found + ", before to " +
                  std::string(identity) + "; let each have an address of its own");
  }
  return connection;
}

std::expected<LogPosition, MysqlError> server_position(MysqlConnection& connection) {
  const bool is_mariadb = connection.is_mariadb();
  const auto text = connection.value(is_mariadb ? "SELECT @@global.gtid_binlog_pos"
                                                : "SELECT @@global.gtid_executed");
  if (!text) {
    return std::unexpected(text.error());
  }
  auto position = LogPosition::parse(text->value_or("?"), is_mariadb);
  if (!position) {
    constexpr unsigned kMalformed = 2027;  // CR_MALFORMED_PACKET
    return std::unexpected(
        MysqlError{.code = kMalformed, .what = "the server does not tell how far its log is"});
  }
  return *std::move(position);
}

ServerProbe::ServerProbe(Settings settings, Told told)
    : settings_(std::move(settings)),
      told_(std::move(told)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

void ServerProbe::run(const std::stop_token& stop) {
  do {
    try {
      auto connection = open_same_server(settings_.login, settings_.identity);
      if (!connection) {
        continue;
      }
      const std::stop_callback wake(stop, [&connection] { connection->interrupt(); });
      ask_until_it_fails(stop, *connection);
    } catch (const std::exception&) {  // no memory, say: nothing is proven
      continue;
    }
  } while (pause_for(every(), stop));
}

void ServerProbe::ask_until_it_fails(const std::stop_token& stop, MysqlConnection& connection) {
  const bool is_mariadb = connection.is_mariadb();
  std::optional<TimePoint> lag_known_since;
  do {
    const TimePoint at = settings_.clock();
    const auto lag = replica_lag(connection, is_mariadb);
    if (!lag) {
      return;
    }
    const auto position = server_position(connection);
    if (!position) {
      return;
    }
    const std::optional<std::chrono::seconds> behind = lag->behind;
    if (!behind) {
      lag_known_since.reset();
      continue;
    }
    lag_known_since = lag_known_since.value_or(at);
    const bool is_believed = !lag->is_replica || at - *lag_known_since >= settings_.max_lag;
    if (is_believed && *behind < settings_.max_lag) {
      told_(at - *behind, *position);
    }
  } while (pause_for(every(), stop));
}

}  // namespace cuckooguard::source
