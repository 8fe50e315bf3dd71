// Reads tables into filters while the log goes on, once, on a thread of its own.
//
//   connect ─▶ plan ─▶ collect what the log says ─▶ open a view ─▶ has anything changed since the plan?
//                                                                      │
//       for each table: rows ─▶ filter ─▶ publish, with what the log said meanwhile ◀┘
//
// The log's word is kept before the view is opened, and everything that it said before is visible in
// the view: so nothing falls between the two. All tables are read in one view.
//
// Called by: LogFollower, which makes one whenever tables are due, and no second one beside it. Threads:
// its own; construction starts it, destruction stops and joins it. Lifetimes: the set outlives it. Errors:
// none; a table that could not be read is due again, and says why. Limits: one view, for as long as the
// tables take.
#pragma once

#include <atomic>
#include <cstdint>
#include <expected>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "source/mysql_connection.h"
#include "source/mysql_table.h"
#include "source/read_view.h"
#include "source/table_set.h"

namespace cuckooguard::source {

class TableLoader {
 public:
  static constexpr int kViewsMax = 1000;  // of which none is as current as the log that was applied

  struct Settings {
    MysqlLogin login;
    std::string identity;  // of the server that is followed: server_identity()
    OpenView open_view;
    Clock clock;
  };

  TableLoader(Settings settings, TableSet& tables, std::vector<TableSet::Index> chosen);
  TableLoader(const TableLoader&) = delete;
  TableLoader& operator=(const TableLoader&) = delete;
  ~TableLoader() = default;

  bool has_ended() const { return has_ended_; }

 private:
  using Done = std::expected<void, MysqlError>;

  struct Planned {
    TableSet::Index index;
    const TableRows* rows;
  };

  void run(const std::stop_token& stop);
  Done load(MysqlConnection& connection, const std::stop_token& stop);
  Done plan(MysqlConnection& connection);
  std::expected<ReadView, MysqlError> open_current_view(MysqlConnection& connection,
                                                        const LogPosition& collected_from) const;
  Done check_plans(MysqlConnection& connection);
  Done settle(const ReadView& view, const std::stop_token& stop);
  Done read(const Planned& planned, MysqlConnection& connection, const std::stop_token& stop);
  std::expected<Intake, MysqlError> read_rows(const Planned& planned,
                                              FilterLoad& load,
                                              MysqlConnection& connection,
                                              const std::stop_token& stop);

  Settings settings_;
  TableSet& tables_;
  std::vector<TableSet::Index> chosen_;  // not yet done with
  std::vector<Planned> planned_;
  std::atomic<bool> has_ended_ = false;
  std::jthread thread_;
};

}  // namespace cuckooguard::source
