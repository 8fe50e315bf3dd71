// A session in which tables of PostgreSQL are read, as a TableLoader wants it
// (follow/table_loader.h), and in which a restart looks at them (follow/restore.h).
//
// A view is a REPEATABLE READ transaction; which transactions it shows pg_current_snapshot() says
// in it. It serves if it shows all that was applied before (log.h): the log may be ahead of what is
// visible for as long as a commit takes, or a synchronous standby is silent. And it shows whoever
// is writing to the table then, behind its plan: a table can be published while they write, and of
// what they wrote before the log has no word.
//
// Threads: one, but interrupt(), which is any's. Errors: PostgresError. Limits: kViewWaitMax for a
// view that serves; the view holds back vacuum while it is open; whoever waits for a lock on a
// table that is read waits kLookEvery and a little.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "follow/table_loader.h"
#include "postgres/connection.h"
#include "postgres/log.h"
#include "postgres/log_applier.h"
#include "postgres/table.h"

namespace cuckooguard::source {

// How a view is opened on a session; tests put a wrong one in its place.
using OpenPostgresView =
    std::expected<PostgresView, PostgresError> (*)(PostgresConnection& connection);
std::expected<PostgresView, PostgresError> open_postgres_view(PostgresConnection& connection);

class PostgresReader {
 public:
  static constexpr std::chrono::seconds kViewWaitMax{20};
  static constexpr std::chrono::seconds kLookEvery{1};

  struct Settings {
    PostgresLogin login;
    std::string identity;  // of the server that is followed: server_identity()
    PostgresPlace place;
    OpenPostgresView open_view = open_postgres_view;
    Clock clock;
  };

  static std::expected<PostgresReader, PostgresError> open(const Settings& settings);

  std::expected<PostgresPosition, PostgresError> position();
  std::expected<void, PostgresError> list(TableSet<PostgresLog>& tables);
  std::expected<PostgresTable, PostgresTrouble> plan(const Target& target,
                                                     const std::string& table);
  // Of the table that was planned last.
  std::expected<PostgresView, PostgresError> open_view(const PostgresPosition& from,
                                                       TableSet<PostgresLog>& tables,
                                                       const std::stop_token& stop);
  std::expected<void, PostgresError> close_view() { return connection_.run("ROLLBACK"); }
  std::expected<TableEstimate, PostgresError> size(const PostgresTable& plan);
  std::expected<std::optional<std::string>, PostgresError> count(const PostgresTable& plan) {
    return connection_.value(plan.count_sql());
  }
  std::expected<PostgresRows, PostgresError> stream(const PostgresTable& plan) {
    return connection_.stream(plan.copy_sql(), plan.needed().size());
  }
  // For this session, whatever the lock is.
  bool is_somebody_waiting(const PostgresTable& plan);
  void interrupt() const { connection_.interrupt(); }

 private:
  PostgresReader(PostgresConnection connection, Settings settings, std::string process)
      : connection_(std::move(connection)),
        settings_(std::move(settings)),
        process_(std::move(process)) {}

  PostgresConnection connection_;
  Settings settings_;
  std::string process_;                         // of the session, at the server
  std::optional<PostgresConnection> observer_;  // of who waits for it
  std::uint32_t planned_oid_ = 0;               // of the table that was planned last
  TimePoint look_at_{};
};

}  // namespace cuckooguard::source
