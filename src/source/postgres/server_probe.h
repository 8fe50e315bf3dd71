// Asks PostgreSQL over and over how far its log is, what everybody sees by now, and whether its
// tables are still what they were: several times per max_lag, and in between when a reader wants it
// (source/asking.h).
//
// The proof. At time t, before the question is sent, every commit that has returned is in the log
// before the place where it is being written (the insert position p): that of what was flushed is
// not enough, since a commit with synchronous_commit = off is visible before it is (seen; notes on
// reach, E.1). Whoever has applied all before p has all that was committed before t, if the tables
// are still those of the catalog, which is asked with it.
//
// What a question is, in one round trip. The whole one: p, the watch of the catalog, the tables'
// fingerprints, the slot. One for a reader: p and the watch (catalog_watch.h), by which the
// fingerprints are those of the last whole one; if it has changed a whole one follows at once. It
// costs the server 0.12 ms of a core for one table, 0.2 for ten, 1.5 for a hundred (PostgreSQL 15),
// 2 % of a core at most at pace_of() as many tables; a whole one 0.6, 3 and 16. The slot proves
// nothing by itself: what its stream has brought is applied, and a lost slot ends the stream.
//
// A server that has become read-only and is no standby, or whose commits would wait for us, is left
// at once (why_left(), with each question).
//
// A server sends no more than it has flushed, and writes nothing while it is idle: if the log does
// not come as far as it was said to be, the probe has something flushed, a message without
// contents; for a reader at once if p is beyond the flush, but no more often than kNudgeEvery.
// Before PostgreSQL 17 that message is a transaction, with a number of its own: they are counted.
// One that is a transaction in any case is written if the follower needs one (log_follower.h). A
// role that may not write it (Word::why_not_flushed) waits until the server flushes by itself:
// until then nothing is proven. And it is asked again for as long as kPursuedMax, for a server
// tells how far it has sent when asked.
//
// Threads: its own, on which `told` is called; construction starts it, destruction ends it. Errors:
// it ends, says why, and nothing is proven any more until the log is resumed.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "config/config.h"
#include "postgres/catalog_watch.h"
#include "postgres/connection.h"
#include "postgres/fingerprints.h"
#include "postgres/log.h"
#include "postgres/server.h"
#include "source/asking.h"
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
    Asking asking{};
    // Of the log, of which the server keeps so many bytes.
    std::function<bool(std::uint64_t retained)> needs_transaction = [](std::uint64_t) {
      return false;
    };
  };
  struct Word {
    TimePoint at;  // all that was committed before is in the log up to `position`
    PostgresPosition position;
    PostgresCommitted committed;
    std::uint64_t retained = 0;  // bytes of its log that the server keeps for the slot
    bool is_whole = false;
    std::uint64_t transactions = 0;  // that were needed to have the log flushed
    std::string why_not_flushed{};   // the server refuses to: for people
  };
  static constexpr std::chrono::nanoseconds kReportEveryMax = std::chrono::milliseconds(500);
  static constexpr std::chrono::milliseconds kNudgeEvery{20};
  static constexpr std::chrono::minutes kNudgeEveryIfRefused{1};
  static constexpr std::chrono::milliseconds kPursuedMax{100};
  // Between readers' questions about so many tables and patterns, where the configuration does not
  // say.
  static constexpr std::chrono::milliseconds pace_of(std::size_t tables) {
    return std::chrono::milliseconds(6 + tables * 3 / 4);
  }
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
  using Done = std::expected<void, PostgresError>;

  void run(const std::stop_token& stop);
  // Why it has ended.
  std::string ask_until_it_fails(const std::stop_token& stop);
  Done prepare(PostgresConnection& connection);
  std::expected<Word, PostgresError> ask(PostgresConnection& connection);
  // False: the catalog has changed.
  std::expected<bool, PostgresError> ask_shortly(PostgresConnection& connection);
  Done ask_wholly(PostgresConnection& connection);
  Done take_catalog(PostgresConnection& connection, std::vector<PostgresAnswer> answers);
  Done have_sent_on(PostgresConnection& connection, Word& word, bool is_wanted);
  Done nudge(PostgresConnection& connection, Word& word, bool by_transaction);
  void pursue(const Word& word, bool is_wanted);
  std::chrono::nanoseconds whole_every() const;

  Settings settings_;
  Report report_;
  IsApplied is_applied_;
  std::string why_;
  // Its thread's:
  PostgresHead head_;
  std::optional<CatalogScope> scope_;  // of the watch that is prepared
  std::string watched_;  // by which the fingerprints are believed; empty: they are not
  std::shared_ptr<const TableFingerprints> fingerprints_;
  std::uint64_t retained_ = 0;
  TimePoint whole_at_{};
  std::optional<PostgresPosition> last_;  // of a whole question
  std::optional<TimePoint> nudged_at_;
  PostgresPosition written_;  // where the last message is
  std::string why_not_flushed_;
  std::optional<TimePoint> pursued_since_;
  std::atomic<bool> has_ended_{false};
  std::jthread thread_;
};

}  // namespace cuckooguard::source
