#include "mysql/server_probe.h"

#include <charconv>
#include <exception>
#include <utility>

#include "follow/pause.h"
#include "mysql/proof_dates.h"
#include "mysql/read_view.h"
#include "mysql/server.h"

namespace cuckooguard::source {

std::expected<std::string, MysqlError> server_identity(MysqlConnection& connection) {
  return named_values(connection,
                      "SHOW GLOBAL VARIABLES WHERE variable_name IN ('server_id', 'server_uuid', "
                      "'server_uid', 'hostname', 'port')");
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

std::expected<LogServer, MysqlError> log_server(MysqlConnection& connection) {
  const bool is_mariadb = connection.is_mariadb();
  const auto found = connection.value(is_mariadb ? "SELECT @@global.gtid_domain_id"
                                                 : "SELECT @@global.server_uuid");
  if (!found) {
    return std::unexpected(found.error());
  }
  LogServer server;
  const std::string text = found->value_or("");
  if (is_mariadb) {
    std::from_chars(text.data(), text.data() + text.size(), server.domain);
  } else if (const auto one = parse_gtid(text + ":1", false)) {
    server.source = std::get<binlog::MySqlGtid>(*one).source;
  }
  return server;
}

ServerProbe::ServerProbe(Settings settings, Report report)
    : settings_(std::move(settings)),
      report_(std::move(report)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

void ServerProbe::run(const std::stop_token& stop) {
  try {
    why_ = ask_until_it_fails(stop);
  } catch (const std::exception&) {
    why_.clear();  // no memory, say
  }
  has_ended_.store(true, std::memory_order_release);
}

std::expected<ReplicaLag, std::string> ServerProbe::ask(MysqlConnection& connection,
                                                        Word& word) const {
  const bool is_mariadb = connection.is_mariadb();
  const auto lag = replica_lag(connection, is_mariadb);
  if (!lag) {
    return std::unexpected(lag.error().what);
  }
  auto position = server_position(connection);
  if (!position) {
    return std::unexpected(position.error().what);
  }
  const auto now = upheavals(connection);  // last: a position from before one is of the old log
  if (!now) {
    return std::unexpected(now.error().what);
  }
  if (*now != settings_.upheavals) {
    return std::unexpected(
        "the server has run a RESET or joined a cluster: its log may have begun anew");
  }
  word.position = *std::move(position);
  if (is_mariadb) {
    auto committed = committed_place(connection);
    if (!committed) {
      return std::unexpected(committed.error().what);
    }
    auto listed = listed_xids(connection);
    if (!listed) {
      return std::unexpected(listed.error().what);
    }
    word.committed = *std::move(committed);
    word.listed = *std::move(listed);
  }
  return *lag;
}

std::string ServerProbe::ask_until_it_fails(const std::stop_token& stop) {
  auto connection = open_same_server(settings_.login, settings_.identity);
  if (!connection) {
    return connection.error().what;
  }
  const std::stop_callback wake(stop, [&connection] { connection->interrupt(); });
  ProofDates dates(settings_.clock, settings_.max_lag);
  std::optional<TimePoint> proven_at;
  do {
    Word word;
    const auto at = dates.date([&] { return ask(*connection, word); });
    if (!at) {
      return at.error();
    }
    const TimePoint now = settings_.clock();
    if (!proven_at || now - *proven_at >= proven_every()) {
      word.at = *at;
      proven_at = now;
    }
    report_(word);
  } while (pause_for(std::min(proven_every(), kReportEveryMax), stop));
  return {};
}

}  // namespace cuckooguard::source
