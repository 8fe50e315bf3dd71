// What a MariaDB or MySQL server says of itself, whether its log can be followed, and how current
// it is.
//
// Refused, each with the SQL that mends it: no binary log; statements instead of rows in it;
// MySQL without GTIDs; a replica that does not log what it replicates; a log that leaves out
// databases; missing grants. The log format can be changed per session, so the follower watches for
// statements all the same.
// Refused, too: a node of a Galera cluster, a member of Group Replication. Neither has a replica's
// status, and yet each has transactions only some time after another one has committed them;
// nothing here proves how long.
//
// Threads: free functions. Errors: Error; a missing grant becomes a sentence.
// Source: MariaDB 10.11, MySQL 9.7, asked by hand; notes on change following, 1 and 3.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mysql/connection.h"
#include "mysql/log_place.h"

namespace cuckooguard::source::mysql {

struct Server {
  bool is_mariadb = false;
  std::string version;
  std::string account;  // 'guard'@'%', as the server knows us
  bool has_log = false;
  std::string log_format;
  std::string gtid_mode;  // MySQL
  std::string uuid;       // MySQL
  std::uint32_t server_id = 0;
  bool is_replica = false;
  bool logs_what_it_replicates = false;
  std::string databases_left_out;  // binlog-do-db, binlog-ignore-db
  bool is_galera_node = false;
  bool is_group_member = false;  // of MySQL's Group Replication
  std::vector<std::string> missing_grants;
};

// As GRANT and information_schema name it: 'guard'@'%'.
Expected<std::string> own_account(Connection& connection);

Expected<Server> ask_server(Connection& connection);

// Empty: the log can be followed.
std::vector<std::string> refusals(const Server& server);

// What gives an account all that a guard needs, with PASSWORD for its password. Who was let in
// neither as MariaDB nor as MySQL is told of both; `refusal` names the account as the server does.
std::string account_sql(const config::MysqlSource& settings, std::string_view refusal);

struct ReplicaLag {
  bool is_replica = false;
  std::optional<std::chrono::seconds> behind;  // nothing: it does not know, or has stopped
};
// Asked by replica_status_sql().
ReplicaLag replica_lag(const std::vector<Record>& status, bool is_mariadb);
std::string_view replica_status_sql(bool is_mariadb);

// What a server is beside its log, and may cease to be. Costs little, which status variables do
// not.
struct Standing {
  bool is_read_only = false;
  // MariaDB: how rows may come to it that its log does not have, as one text: a Galera cluster that
  // it is in, or told to join; what it has replicated without logging it (unlogged_sql()).
  std::string unlogged{};
};
// The question of this server; of MariaDB its position comes first. And its answer.
Expected<std::string_view> standing_sql(Connection& connection);
Expected<Standing> standing_of(const Answer& answer, bool is_mariadb);
Expected<Standing> ask_standing(Connection& connection);

// Why a server that can be followed does not serve strict reads (`consistency: strict`); empty: it
// does.
std::string_view why_not_strict(bool is_replica);

// Why one does not prove anything: it is read-only and no replica. Empty: it does.
std::string_view why_read_only(const Standing& standing, bool is_replica);

// What a SHOW of names and values says, as one text: `name=value ` for each.
std::string named_values(const Answer& rows);
Expected<std::string> named_values(Connection& connection, std::string_view sql);

// Changes when something may have begun that check was not asked about: text of how often the
// server has run a RESET (RESET MASTER begins the log and its numbers anew), or has joined a group,
// and whether it is in a cluster.
// Seen: both servers count a RESET before they carry it out.
Expected<std::string> upheavals(Connection& connection);
inline constexpr std::string_view kUpheavalsSql =
    "SHOW GLOBAL STATUS WHERE variable_name IN ('Com_reset', 'Com_group_replication_start', "
    "'wsrep_connected')";

// SHOW BINARY LOG STATUS, under the name that this server knows.
Expected<std::string_view> log_status_sql(Connection& connection);
Expected<Record> log_status(Connection& connection);
// As it says: where the log has been written to, all that anybody sees included.
Expected<LogPlace> log_end(Connection& connection);
Expected<LogPlace> log_end(const Record& status);

}  // namespace cuckooguard::source::mysql
