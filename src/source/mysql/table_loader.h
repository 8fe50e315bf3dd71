// Reads tables into filters while the log goes on, once, on a thread of its own.
//
//   connect ─▶ for each table:
//     plan ─▶ collect what the log says ─▶ open a view ─▶ has anything changed since the plan?
//                                                                  │
//       rows ─▶ filter ─▶ publish, with what the log said meanwhile ◀┘
//
// The log's word is kept before the view is opened, and everything that it said before is visible
// in the view: so nothing falls between the two. Each table is read in a view of its own, whose
// metadata lock ends with it; and when somebody waits for that lock the table is given up, to be
// read again (lock_probe.h).
//
// What was read of a table is counted against the server's own count in that view, where that is
// kRowsCounted at most: a count scans an index from end to end, as the load has just done, which is
// not noticed of a small table and is of a large one.
// Limit: what leaves out rows of a table and still gives more than kRowsCounted is not noticed by
// their number.
//
// Threads: its own; construction starts it, destruction stops and joins it. Lifetimes: the set
// outlives it. Errors: none; a table that could not be read is due again, and says why, while the
// others are read. Limits: one view, for as long as its table takes; whoever waits for a lock on
// that, or for who waits, waits LockProbe::kEvery and a little.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "mysql/connection.h"
#include "mysql/lock_probe.h"
#include "mysql/read_view.h"
#include "mysql/table.h"
#include "mysql/table_set.h"

namespace cuckooguard::source {

class TableLoader {
 public:
  static constexpr std::uint64_t kRowsCounted = 1'000'000;

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
  // An error: of all that are left.
  Done load(MysqlConnection& connection, const std::stop_token& stop);
  Done load(TableSet::Index index, MysqlConnection& connection, const std::stop_token& stop);
  void fail(TableSet::Index index, const MysqlError& error);
  Done check_plan(const Planned& planned, MysqlConnection& connection);
  Done settle(const Planned& planned, const ReadView& view, const std::stop_token& stop);
  Done read(const Planned& planned, MysqlConnection& connection, const std::stop_token& stop);
  static std::expected<Intake, MysqlError> complete(FilterLoad& load,
                                                    const MysqlTable& plan,
                                                    std::uint64_t rows,
                                                    MysqlConnection& connection);
  std::expected<Intake, MysqlError> read_rows(const Planned& planned,
                                              FilterLoad& load,
                                              MysqlConnection& connection,
                                              const std::stop_token& stop);
  std::optional<std::string> why_to_stop(const Planned& planned,
                                         LockProbe& locks,
                                         const std::stop_token& stop);

  Settings settings_;
  TableSet& tables_;
  std::vector<TableSet::Index> chosen_;  // not yet done with
  // For all of them together: of a transaction that stays prepared each would wait.
  std::chrono::nanoseconds prepared_wait_ = TableSet::kPreparedWaitMax;
  std::atomic<bool> has_ended_ = false;
  std::jthread thread_;
};

// An error if the definition has changed since the table was planned: before the log's word was
// kept, so that nobody would speak of it.
std::expected<void, MysqlError> check_unchanged(const MysqlTable& planned,
                                                const std::expected<MysqlTable, MysqlTrouble>& now);

}  // namespace cuckooguard::source
