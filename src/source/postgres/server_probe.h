// Asks PostgreSQL over and over how far its log is, what everybody sees by now, and whether its
// tables are still what they were.
//
// The proof. At time t, before the question is sent, every commit that has returned is in the log
// before the place where it is being written (the insert position p): that of what was flushed is
// not enough, since a commit with synchronous_commit = off is visible before it is (seen; notes on
// reach, E.1). Whoever has applied all before p has all that was committed before t, if the tables
// are still those of the catalog, which is asked behind it.
//
// A server sends no more than it has flushed, and writes nothing while it is idle: if the log does
// not come as far as it was said to be, the probe has something committed that is flushed, a
// message that nobody reads.
//
// Threads: its own, on which `told` is called; construction starts it, destruction ends it. Errors:
// it ends, says why, and nothing is proven any more until the log is resumed.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "config/config.h"
#include "postgres/connection.h"
#include "postgres/log.h"
#include "source/source.h"

namespace cuckooguard::source {

class PostgresProbe {
 public:
  struct Settings {
    PostgresLogin login;
    std::string identity;  // of the server that is followed: server_identity()
    PostgresPlace place;
    std::vector<std::string> tables;  // names and patterns of all that is followed
    std::string slot;
    Clock clock;
    std::chrono::nanoseconds max_lag;
  };
  struct Word {
    TimePoint at;  // all that was committed before is in the log up to `position`
    PostgresPosition position;
    PostgresCommitted committed;
    std::uint64_t retained = 0;  // bytes of its log that the server keeps for the slot
  };
  static constexpr std::chrono::nanoseconds kReportEveryMax = std::chrono::seconds(1);
  // Whether the log has been applied as far as the last word was.
  using Report = std::function<void(const Word& word)>;
  using IsApplied = std::function<bool(const PostgresPosition& position)>;

  PostgresProbe(Settings settings, Report report, IsApplied is_applied);
  PostgresProbe(const PostgresProbe&) = delete;
  PostgresProbe& operator=(const PostgresProbe&) = delete;
  ~PostgresProbe() = default;

  bool has_ended() const { return has_ended_.load(std::memory_order_acquire); }
  const std::string& why() const { return why_; }  // then

 private:
  void run(const std::stop_token& stop);
  // Why it has ended.
  std::string ask_until_it_fails(const std::stop_token& stop);
  std::expected<Word, PostgresError> ask(PostgresConnection& connection) const;

  Settings settings_;
  Report report_;
  IsApplied is_applied_;
  std::string why_;
  std::atomic<bool> has_ended_{false};
  std::jthread thread_;
};

}  // namespace cuckooguard::source
