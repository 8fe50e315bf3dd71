// A session in which tables are read, as a TableLoader wants it (follow/table_loader.h), and in
// which a restart looks at them (follow/restore.h).
//
// Threads: one, but interrupt(), which is any's. Errors: MysqlError. Limits: whoever waits for a
// lock on a table that is read, or for who waits, waits LockProbe::kEvery and a little.
#pragma once

#include <expected>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "follow/table_loader.h"
#include "mysql/connection.h"
#include "mysql/lock_probe.h"
#include "mysql/log.h"
#include "mysql/log_applier.h"
#include "mysql/read_view.h"
#include "mysql/table.h"

namespace cuckooguard::source {

class TableReader {
 public:
  struct Settings {
    MysqlLogin login;
    std::string identity;  // of the server that is followed: server_identity()
    OpenView open_view;
    Clock clock;
  };

  static std::expected<TableReader, MysqlError> open(const Settings& settings);
  // In a session that is open.
  TableReader(MysqlConnection connection, Settings settings)
      : connection_(std::move(connection)), settings_(std::move(settings)) {}

  MysqlConnection& connection() { return connection_; }
  std::expected<LogPosition, MysqlError> position();
  std::expected<void, MysqlError> list(TableSet<MysqlLog>& tables);
  std::expected<MysqlTable, MysqlTrouble> plan(const Target& target, const std::string& table) {
    return plan_mysql_table(connection_, target, table);
  }
  // Once those XA transactions are done that the log has ended (xa_commits.h).
  std::expected<ReadView, MysqlError> open_view(const LogPosition& from,
                                                TableSet<MysqlLog>& tables,
                                                const std::stop_token& stop);
  std::expected<void, MysqlError> close_view() { return source::close_view(connection_); }
  std::expected<TableEstimate, MysqlError> size(const MysqlTable& plan);
  std::expected<std::optional<std::string>, MysqlError> count(const MysqlTable& plan) {
    return connection_.value(plan.count_sql());
  }
  std::expected<MysqlRows, MysqlError> stream(const MysqlTable& plan) {
    return connection_.stream(plan.select_sql());
  }
  // Asked LockProbe::kEvery at most.
  bool is_somebody_waiting(const MysqlTable& plan);
  void interrupt() const { connection_.interrupt(); }

 private:
  MysqlConnection connection_;
  Settings settings_;
  std::optional<LockProbe> locks_;  // since the first table's rows
};

}  // namespace cuckooguard::source
