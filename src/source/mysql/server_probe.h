// Asks a server over and over how far its log is, and so how current whoever has applied that much
// must be: several times per max_lag, and in between when a reader wants it (source/follower.h).
//
// The proof. At time t, before the question is sent, every commit that has returned, or that
// anybody has seen, is in the log; the answer covers it. Whoever has applied that much has all that
// was committed before t. A heartbeat or an open connection prove nothing of the kind
// (docs/design.md). A replica is asked first how far it is behind its primary (server_probe.h).
//
// What the answer is. MariaDB: gtid_binlog_pos. MySQL shows a group of commits to others before
// gtid_executed has them (seen: in 10 of 1000 views beside 32 writers), but not before they are
// written to its log: the log's end, file and position, which it reads under the log's lock. That
// may be ahead of what is synced, and so of what the stream is sent: then the proof takes as long
// as the sync. gtid_executed is asked with it, and must be applied, too.
//
// What a question is, in one round trip. The whole one: the replica's state, the position, how it
// stands (Standing), upheavals (behind it: a position from before one is of the old log), what
// is committed. MariaDB spends 0.9 ms of a core on it, 0.4 ms of them on each status variable's
// list, and more with many sessions; MySQL 0.35 ms, 0.25 ms of them on upheavals. So readers'
// questions are short: without the last two: 0.09 ms (MariaDB 10.11, with 0 and with 500 idle
// sessions, on two busy cores; the position alone 0.03 ms), and less of MySQL (9.7; 0.2 ms against
// MariaDB's 0.27 ms where five others wanted each core). At kPace they take 2 % of a core.
//
// Why a short one needs no count of RESETs. MariaDB: a log that begins anew begins with its
// numbers, too, so that its position does not cover the one before, which voids all that is
// believed (TableSetLog). It is taken for the old one only when it has given out all of its numbers
// again. That takes longer than has passed since the last whole question: a short one counts only
// where its largest number is more than kNumbersPerSecondMax would have reached in that time. Of a
// log so young all questions are whole. Limit: an operator who runs RESET MASTER, sets the numbers
// to just below where they were (gtid_binlog_state, gtid_seq_no), and has exactly as many
// transactions committed, all between two whole questions, is believed until the second one.
// MySQL gets its numbers back by SET GLOBAL gtid_purged, but its log begins in the first file
// again: a place before the last one ends the probe, and in the first file all questions are whole.
// The stream of the old log is sent nothing of the new one (seen). Limit: an operator who has the
// log begin in a later file (RESET ... TO), or go there by FLUSH LOGS, sets gtid_purged, and
// reaches a place between the last answer and the old log's end, all between two whole questions.
// What is committed is for erasures alone, which may be late.
//
// A server that has become read-only, and is no replica, is likely to have a successor: nothing is
// proven of it. One that has become a replica and does not log what it replicates has rows that its
// log will never have.
//
// A replica does not serve strict reads (why_not_strict()).
//
// Threads: its own, on which `told` is called; construction starts it, destruction ends it. Errors:
// it ends, says why, and nothing is proven any more until the log is resumed: a server that is
// asked anew may have been started anew.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "config/config.h"
#include "follow/ending_thread.h"
#include "mysql/connection.h"
#include "mysql/log.h"
#include "mysql/log_position.h"
#include "mysql/server.h"
#include "source/follower.h"
#include "source/source.h"
#include "text/try.h"

namespace cuckooguard::source::mysql {

// Before when all that was committed is in what a server has just said of its log.
//
// That is the time before it was asked. A replica is asked first how far it is behind its primary,
// and proves that much less: what it lacks then, and has applied when it is asked for its position,
// is in that. One that does not know, or is behind by max_lag or more, proves nothing; nor does one
// that has not known for max_lag: it says 0 as soon as it has reached its primary, before it hears
// what it has missed.
//
// Threads: its own. Errors: those of the question. Limits: replicas count in whole seconds, and
// notice only after slave_net_timeout that a primary is silent.
class ProofDates {
 public:
  ProofDates(Clock clock, std::chrono::nanoseconds max_lag)
      : clock_(std::move(clock)), max_lag_(max_lag) {}

  // `ask` asks all, and returns the lag: std::expected<ReplicaLag, std::string>. Nothing: it proves
  // nothing.
  template <class Ask>
  std::expected<std::optional<TimePoint>, std::string> date(const Ask& ask) {
    const TimePoint at = clock_();
    const auto lag = TRY(ask());
    return judge(at, lag);
  }

 private:
  std::optional<TimePoint> judge(TimePoint at, const ReplicaLag& lag) {
    if (!lag.behind) {
      lag_known_since_.reset();
      return std::nullopt;
    }
    lag_known_since_ = lag_known_since_.value_or(at);
    const bool is_believed = !lag.is_replica || at - *lag_known_since_ >= max_lag_;
    return is_believed && *lag.behind < max_lag_ ? std::optional(at - *lag.behind) : std::nullopt;
  }

  Clock clock_;
  std::chrono::nanoseconds max_lag_;
  std::optional<TimePoint> lag_known_since_;
};

class ServerProbe {
 public:
  struct Settings {
    Login login;
    std::string identity;  // of the server that is followed: server_identity()
    bool logs_what_it_replicates = false;
    // From before its log was begun to be read:
    std::string upheavals;
    Standing standing{};
    Clock clock;
    std::chrono::nanoseconds max_lag;
    Asking asking{};
  };
  struct Word {
    std::optional<TimePoint> at;  // all that was committed before is in the log up to `position`
    LogPosition position;
    LogPlace place{};                    // MySQL
    std::optional<Committed> committed;  // of a whole question
  };
  // Between readers' questions, where the configuration does not say.
  static constexpr std::chrono::milliseconds kPace{5};
  // More than any MariaDB commits: its log is written by one thread at a time.
  static constexpr std::uint64_t kNumbersPerSecondMax = 500'000;
  // What is committed is told so often, however seldom proofs are due: checkpoints wait for it.
  static constexpr std::chrono::nanoseconds kReportEveryMax = std::chrono::seconds(1);
  using Report = std::function<void(const Word& word)>;

  ServerProbe(Settings settings, Report report);

  // Its connection is gone, or the log may have begun anew: what it would tell from now on could be
  // of another log than the one that is read.
  bool has_ended() const { return thread_.has_ended(); }
  const std::string& why() const { return thread_.why(); }  // then

 private:
  // Why it has ended.
  std::string ask_until_it_fails(const std::stop_token& stop);
  std::expected<ReplicaLag, std::string> ask(Connection& connection, Word& word);
  std::expected<ReplicaLag, std::string> ask(Connection& connection, Word& word, bool is_whole);
  std::expected<void, std::string> prepare(Connection& connection);
  // Why it cannot be followed any more; empty: it can.
  std::string why_not(const Standing& standing, const ReplicaLag& lag) const;
  bool is_whole_due() const;
  bool is_young(const Word& word) const;
  std::chrono::nanoseconds whole_every() const {
    return std::min<std::chrono::nanoseconds>(settings_.max_lag / config::kPollsPerMaxLag,
                                              kReportEveryMax);
  }

  Settings settings_;
  Report report_;
  std::optional<TimePoint> whole_at_;  // before the last whole question
  std::string_view standing_sql_;
  std::string_view log_status_sql_;  // MySQL
  Word last_;
  EndingThread thread_{[this](const std::stop_token& stop) { return ask_until_it_fails(stop); }};
};

// All that has been committed: MariaDB's gtid_binlog_pos, MySQL's gtid_executed.
Expected<LogPosition> server_position(Connection& connection);

// By what the server's own groups are known in its position.
Expected<LogServer> log_server(Connection& connection);

// Tells one server from another.
Expected<std::string> server_identity(Connection& connection);

// An error if it is another server that answers: a name may lead to several, and what one says of
// its log or its rows means nothing beside what another does.
Expected<Connection> open_same_server(const Login& login, std::string_view identity);

}  // namespace cuckooguard::source::mysql
