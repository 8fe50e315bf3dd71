// Reads the tables of one open read transaction into feeds.
//
// Threads: the source's. Lifetimes: of one transaction.
// Errors: what is wrong with a table or a row is told to its feed (unsynced); what is wrong with
// the database, and a
//         stop, is returned.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <stop_token>
#include <string>

#include "source/feed.h"
#include "sqlite/database.h"
#include "sqlite/table.h"

namespace cuckooguard::source::sqlite {

class SnapshotReader {
 public:
  static constexpr std::uint64_t kRowsPerCheck = 1024;

  // `at_check` is for tests: called every kRowsPerCheck rows.
  SnapshotReader(const Database& database,
                 const std::stop_token& stop,
                 std::function<void()> at_check);

  // `deletes`: what the filter will be told of afterwards.
  Done read(Feed& feed, filter::DeleteMode deletes = filter::DeleteMode::deferred);

 private:
  enum class Reading : std::uint8_t { finished, too_small };

  Expected<Reading> read_table(Feed& feed, const TablePlan& plan, filter::DeleteMode deletes);
  Expected<Reading> read_rows(Feed& feed, const TablePlan& plan, Statement& statement);

  const Database& database_;
  const std::stop_token& stop_;
  std::function<void()> at_check_;
};

}  // namespace cuckooguard::source::sqlite
