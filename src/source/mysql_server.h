// What a MariaDB or MySQL server says of itself, whether its log can be followed, and how current it is.
//
// Refused, each with the SQL that mends it: no binary log; statements instead of rows in it;
// MySQL without GTIDs; a replica that does not log what it replicates; a log that leaves out
// databases; missing grants. The log format can be changed per session, so the follower watches for
// statements all the same.
//
// Called by: the MySQL source, once per connection (ask, refusals) and several times per max_lag (lag).
// Threads: free functions. Errors: MysqlError; a missing grant becomes a sentence.
// Source: MariaDB 10.11, MySQL 9.7, asked by hand; notes on change following, 1 and 3.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "source/mysql_connection.h"

namespace cuckooguard::source {

struct MysqlServer {
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
  std::vector<std::string> missing_grants;
};

// As GRANT and information_schema name it: 'guard'@'%'.
std::expected<std::string, MysqlError> own_account(MysqlConnection& connection);

std::expected<MysqlServer, MysqlError> ask_server(MysqlConnection& connection);

// Empty: the log can be followed.
std::vector<std::string> refusals(const MysqlServer& server);

struct ReplicaLag {
  bool is_replica = false;
  std::optional<std::chrono::seconds> behind;  // nothing: it does not know, or has stopped
};
std::expected<ReplicaLag, MysqlError> replica_lag(MysqlConnection& connection, bool is_mariadb);

// SHOW BINARY LOG STATUS, under the name that this server knows.
std::expected<MysqlRecord, MysqlError> log_status(MysqlConnection& connection);

}  // namespace cuckooguard::source
