#include "mysql/server.h"

#include <algorithm>

#include "text/number.h"
#include "text/try.h"

namespace cuckooguard::source::mysql {
namespace {

constexpr unsigned kSyntaxError = 1064;
constexpr unsigned kAccessDenied = 1227;

std::string_view word(const Record& record, std::string_view name) {
  const auto found = record.find(name);
  if (found == record.end()) {
    return {};
  }
  const std::optional<std::string>& value = found->second;
  return value ? std::string_view(*value) : std::string_view{};
}

bool is_on(std::string_view value) {
  return value == "ON" || value == "1";
}

Expected<Record> variables(Connection& connection) {
  const auto rows = TRY(connection.ask(
      "SHOW GLOBAL VARIABLES WHERE variable_name IN ('log_bin', 'binlog_format', 'gtid_mode', "
      " 'server_uuid', 'server_id', 'log_slave_updates', "
      "'log_replica_updates', 'wsrep_on', 'group_replication_group_name')"));
  Record all;
  for (const auto& row : rows) {
    all.emplace(row[0].value_or(""), row[1]);
  }
  return all;
}

Expected<std::vector<Record>> replica_status(Connection& connection, bool is_mariadb) {
  return connection.ask_by_name(replica_status_sql(is_mariadb));
}

// True if it was a missing grant, which is then noted.
bool is_missing(Server& server, const Error& error, const char* grant) {
  if (error.code != kAccessDenied) {
    return false;
  }
  server.missing_grants.emplace_back(grant);
  return true;
}

// What reading the log needs, which is asked for only when it is read. Rights that come by a role
// may not be listed: then nothing is said here.
Done ask_for_log_grant(Connection& connection, Server& server) {
  const auto grants = TRY(connection.ask("SHOW GRANTS"));
  bool is_granted = false;
  for (const auto& row : grants) {
    const std::string grant = row.empty() ? std::string() : row[0].value_or("");
    const bool is_of_all = grant.find(" ON *.* TO ") != std::string::npos;
    const bool is_role = grant.find(" ON ") == std::string::npos;
    is_granted = is_granted || is_role ||
                 (is_of_all && (grant.find("REPLICATION SLAVE") != std::string::npos ||
                                grant.starts_with("GRANT ALL PRIVILEGES ")));
  }
  if (!is_granted) {
    server.missing_grants.emplace_back("REPLICATION SLAVE");
  }
  return {};
}

}  // namespace

Expected<std::string> own_account(Connection& connection) {
  const auto user = TRY(connection.value("SELECT CURRENT_USER()"));
  const std::string account = user.value_or("@");
  const std::size_t at = account.rfind('@');
  return "'" + account.substr(0, at) + "'@'" + account.substr(at + 1) + "'";
}

Expected<std::string_view> log_status_sql(Connection& connection) {
  constexpr std::string_view kOld = "SHOW MASTER STATUS";
  const auto status = connection.ask(kOld);
  if (status) {
    return kOld;
  }
  if (status.error().code == kSyntaxError) {
    return "SHOW BINARY LOG STATUS";  // from MySQL 8.4
  }
  return std::unexpected(status.error());
}

Expected<Record> log_status(Connection& connection) {
  const std::string_view sql = TRY(log_status_sql(connection));
  auto rows = TRY(connection.ask_by_name(sql));
  return rows.empty() ? Record{} : std::move(rows.front());
}

Expected<LogPlace> log_end(Connection& connection) {
  return log_end(TRY(log_status(connection)));
}

Expected<LogPlace> log_end(const Record& status) {
  LogPlace end{.file = std::string(word(status, "File")),
               .position = text::leading_number(word(status, "Position"))};
  if (end.file.empty() || end.position == 0) {
    return failed("the server does not report the end of its log");
  }
  return end;
}

Expected<Server> ask_server(Connection& connection) {
  Server server{.is_mariadb = connection.is_mariadb(), .version = connection.server_version()};
  server.account = TRY(own_account(connection));
  const auto known = TRY(variables(connection));
  server.has_log = is_on(word(known, "log_bin"));
  server.log_format = word(known, "binlog_format");
  server.gtid_mode = word(known, "gtid_mode");
  server.uuid = word(known, "server_uuid");
  server.server_id = text::leading_number<std::uint32_t>(word(known, "server_id"));
  server.logs_what_it_replicates =
      is_on(word(known, "log_slave_updates")) || is_on(word(known, "log_replica_updates"));
  server.is_galera_node = is_on(word(known, "wsrep_on"));
  server.is_group_member = !word(known, "group_replication_group_name").empty();

  if (server.has_log) {
    const auto status = log_status(connection);
    if (status) {
      server.databases_left_out = std::string(word(*status, "Binlog_Do_DB")) +
                                  std::string(word(*status, "Binlog_Ignore_DB"));
    } else if (!is_missing(server,
                           status.error(),
                           server.is_mariadb ? "BINLOG MONITOR" : "REPLICATION CLIENT")) {
      return std::unexpected(status.error());
    }
  }
  const auto replica = replica_status(connection, server.is_mariadb);
  if (replica) {
    server.is_replica = !replica->empty();
  } else if (!is_missing(server,
                         replica.error(),
                         server.is_mariadb ? "SLAVE MONITOR" : "REPLICATION CLIENT")) {
    return std::unexpected(replica.error());
  }
  TRY(ask_for_log_grant(connection, server));
  return server;
}

std::vector<std::string> refusals(const Server& server) {
  std::vector<std::string> all;
  if (!server.has_log) {
    all.emplace_back(
        "the server has no binary log, so the guard cannot follow its changes; start it with "
        "log_bin and binlog_format = ROW");
  }
  if (server.log_format != "ROW") {
    all.push_back(
        "the server logs statements instead of rows (binlog_format = " + server.log_format +
        "): SET GLOBAL binlog_format = ROW, also in its configuration file, and reconnect open "
        "sessions");
  }
  if (!server.is_mariadb && server.gtid_mode != "ON") {
    all.push_back("gtid_mode is " + server.gtid_mode +
                  ": SET GLOBAL enforce_gtid_consistency = ON; SET GLOBAL gtid_mode = "
                  "OFF_PERMISSIVE; SET GLOBAL gtid_mode = ON_PERMISSIVE; SET GLOBAL gtid_mode = "
                  "ON, also in its configuration file");
  }
  if (server.is_replica && !server.logs_what_it_replicates) {
    all.emplace_back(
        "the server is a replica that does not log replicated changes; start it with "
        "log_replica_updates (log_slave_updates), or follow the primary");
  }
  if (server.is_galera_node || server.is_group_member) {
    all.push_back(std::string("the server is ") +
                  (server.is_galera_node
                       ? "a node of a Galera cluster (wsrep_on = ON)"
                       : "a member of Group Replication (group_replication_group_name is set)") +
                  ": other members may have committed transactions that it lacks, and the guard "
                  "cannot detect which; follow a server that is not part of a cluster");
  }
  if (!server.databases_left_out.empty()) {
    all.push_back("the server's log omits databases (binlog-do-db or binlog-ignore-db: " +
                  server.databases_left_out + "); start it without these settings");
  }
  std::vector<std::string> grants = server.missing_grants;
  std::ranges::sort(grants);
  const auto repeated = std::ranges::unique(grants);
  grants.erase(repeated.begin(), repeated.end());
  for (const std::string& grant : grants) {
    all.push_back("a grant is missing: GRANT " + grant + " ON *.* TO " + server.account);
  }
  return all;
}

std::string account_sql(const config::MysqlSource& settings, std::string_view refusal) {
  const std::string begin = "'" + settings.user + "'@'";
  const std::size_t at = refusal.find(begin);
  const std::size_t end = at == std::string_view::npos ? at : refusal.find('\'', at + begin.size());
  const std::string account =
      end == std::string_view::npos ? begin + "%'" : std::string(refusal.substr(at, end + 1 - at));
  return "If the password is correct, the account is missing or lacks grants. As an administrator, "
         "with the password in place of PASSWORD:\n"
         "  CREATE USER IF NOT EXISTS " +
         account + " IDENTIFIED BY 'PASSWORD';\n  GRANT SELECT ON " +
         quoted_name(settings.database) + ".* TO " + account +
         ";\n  GRANT REPLICATION SLAVE, BINLOG MONITOR, SLAVE MONITOR ON *.* TO " + account +
         ";  -- MariaDB\n  GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO " + account +
         ";  -- MySQL";
}

std::string_view replica_status_sql(bool is_mariadb) {
  return is_mariadb ? "SHOW ALL SLAVES STATUS" : "SHOW REPLICA STATUS";
}

std::string_view why_not_strict(bool is_replica) {
  if (is_replica) {
    return "the server is a replica, which knows its lag only in whole seconds, so it does not "
           "support consistency: strict; set consistency: max_lag, or follow the primary";
  }
  return {};
}

std::string_view why_read_only(const Standing& standing, bool is_replica) {
  if (standing.is_read_only && !is_replica) {
    return "the server is read-only but not a replica: another server may have replaced it as "
           "primary (if not: SET GLOBAL read_only = 0)";
  }
  return {};
}

ReplicaLag replica_lag(const std::vector<Record>& status, bool is_mariadb) {
  std::chrono::seconds longest{0};
  for (const Record& channel : status) {
    std::string_view running = word(channel, "Replica_SQL_Running");
    std::string_view behind = word(channel, "Seconds_Behind_Source");
    if (is_mariadb) {
      running = word(channel, "Slave_SQL_Running");
      behind = word(channel, "Seconds_Behind_Master");
    }
    if (running != "Yes" || behind.empty()) {
      return ReplicaLag{.is_replica = true, .behind = std::nullopt};
    }
    longest = std::max(longest, std::chrono::seconds(text::leading_number<std::uint32_t>(behind)));
  }
  return ReplicaLag{.is_replica = !status.empty(), .behind = longest};
}

Expected<std::string> named_values(Connection& connection, std::string_view sql) {
  return named_values(TRY(connection.ask(sql)));
}

std::string named_values(const Answer& rows) {
  std::string text;
  for (const auto& row : rows) {
    text += row[0].value_or("") + "=" + row[1].value_or("") + " ";
  }
  return text;
}

Expected<std::string> upheavals(Connection& connection) {
  return named_values(connection, kUpheavalsSql);
}

Expected<std::string_view> standing_sql(Connection& connection) {
  constexpr unsigned kUnknownVariable = 1193;
  if (!connection.is_mariadb()) {
    return "SELECT @@global.read_only";
  }
  constexpr std::string_view kWhole =
      "SELECT @@global.gtid_binlog_pos, @@global.read_only, IF(@@global.log_slave_updates, '', "
      "@@global.gtid_slave_pos), @@global.wsrep_on, @@global.wsrep_cluster_address";
  const auto known = connection.ask(kWhole);
  if (known) {
    return kWhole;
  }
  if (known.error().code == kUnknownVariable) {  // a build without clusters
    return kWhole.substr(0, kWhole.find(", @@global.wsrep_on"));
  }
  return std::unexpected(known.error());
}

Expected<Standing> standing_of(const Answer& answer, bool is_mariadb) {
  const std::size_t first = is_mariadb ? 1 : 0;
  if (answer.size() != 1 || answer.front().size() <= first) {
    return failed("the server does not report whether it is read-only");
  }
  const auto& row = answer.front();
  const std::string read_only = row[first].value_or("");
  Standing standing{.is_read_only = read_only != "0" && read_only != "OFF"};
  for (std::size_t i = first + 1; i < row.size(); ++i) {
    standing.unlogged += row[i].value_or("") + ' ';
  }
  return standing;
}

Expected<Standing> ask_standing(Connection& connection) {
  const std::string_view sql = TRY(standing_sql(connection));
  const auto answer = TRY(connection.ask(sql));
  return standing_of(answer, connection.is_mariadb());
}

}  // namespace cuckooguard::source::mysql
