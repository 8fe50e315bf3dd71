#include "mysql/session.h"

#include <array>
#include <span>
#include <string>

#include "text/try.h"

namespace cuckooguard::source::mysql {
namespace {

constexpr unsigned kUnknownVariable = 1193;

// DEFAULT would be the server's global value.
constexpr auto kEverywhere = std::to_array<std::string_view>({
    // Bytes as the columns hold them, in results and in the log alike; what we write is UTF-8.
    "NAMES utf8mb4 COLLATE utf8mb4_general_ci",
    "character_set_results = NULL",
    "sql_mode = ''",
    "time_zone = '+00:00'",
    "sql_quote_show_create = 1",
    // All rows, in the right order, whatever it costs.
    "sql_select_limit = 18446744073709551615",
    "max_join_size = 18446744073709551615",
    "sql_big_selects = 1",  // behind max_join_size, which changes it
    "sql_buffer_result = 0",
    "sql_auto_is_null = 0",
    "max_sort_length = 1024",  // more than any name has
    "group_concat_max_len = 1048576",
    // Transactions that begin and end where we say.
    "autocommit = 1",
    "completion_type = 0",
    // How long we may think, or wait; what waits for the server ends with Login::timeout.
    "wait_timeout = 28800",
    "net_read_timeout = 60",
    "net_write_timeout = 600",
    "lock_wait_timeout = 86400",
});

constexpr auto kMariaDb = std::to_array<std::string_view>({
    "max_statement_time = 0",
    "max_error_count = 64",  // Rows looks for warnings; MySQL lets administrators alone set it
    "idle_transaction_timeout = 0",
    "idle_readonly_transaction_timeout = 0",
    "idle_write_transaction_timeout = 0",
    "query_cache_type = 0",
    "system_versioning_asof = DEFAULT",  // of this one it is "now", in sessions, too
});

constexpr auto kMySql = std::to_array<std::string_view>({
    "max_execution_time = 0",
    "information_schema_stats_expiry = 0",  // else what it says of sizes may be a day old
});

std::string statement(std::span<const std::string_view> settings) {
  std::string sql;
  for (const std::string_view setting : settings) {
    sql += (sql.empty() ? "SET " : ", ") + std::string(setting);
  }
  return sql;
}

Done run(Connection& connection, const std::string& sql) {
  auto done = connection.run(sql);
  if (!done) {
    done.error().what += " (" + sql.substr(0, 100) + ")";
  }
  return done;
}

// At once, or one by one where the server does not know them all.
Done set(Connection& connection, std::span<const std::string_view> settings) {
  const auto done = run(connection, statement(settings));
  if (done || done.error().code != kUnknownVariable) {
    return done;
  }
  for (const std::string_view setting : settings) {
    if (auto one = run(connection, "SET " + std::string(setting));
        !one && one.error().code != kUnknownVariable) {
      return one;
    }
  }
  return {};
}

}  // namespace

Done settle_session(Connection& connection, std::string_view database) {
  // First what ends statements, and a transaction that init_connect may have begun.
  const std::span<const std::string_view> own =
      connection.is_mariadb() ? std::span<const std::string_view>(kMariaDb) : kMySql;
  TRY(set(connection, own));
  TRY(set(connection, kEverywhere));
  for (const char* const sql :
       {"ROLLBACK", "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ"}) {
    TRY(run(connection, sql));
  }
  return database.empty() ? Done{} : run(connection, "USE " + quoted_name(database));
}

}  // namespace cuckooguard::source::mysql
