// Asks a server over and over how far its log is, and so how current whoever has applied that much
// must be.
//
// The proof. At time t, before the question is sent, every commit that has returned is in the log;
// the answer p covers it. Whoever has applied p has all that was committed before t. A heartbeat or
// an open connection prove nothing of the kind (docs/design.md). A replica is asked first how far
// it is behind its primary (proof_dates.h).
//
// Threads: its own, on which `told` is called; construction starts it, destruction ends it. Errors:
// it ends, says why, and nothing is proven any more until the log is resumed: a server that is
// asked anew may have been started anew.
#pragma once

#include <atomic>
#include <chrono>
#include <expected>
#include <functional>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include "binlog/xid.h"
#include "config/config.h"
#include "mysql/connection.h"
#include "mysql/log_place.h"
#include "mysql/log_position.h"
#include "mysql/server.h"
#include "source/source.h"

namespace cuckooguard::source {

class ServerProbe {
 public:
  struct Settings {
    MysqlLogin login;
    std::string identity;   // of the server that is followed: server_identity()
    std::string upheavals;  // upheavals(), from before its log was begun to be read
    Clock clock;
    std::chrono::nanoseconds max_lag;
  };
  struct Word {
    std::optional<TimePoint> at;  // all that was committed before is in the log up to `position`
    LogPosition position;
    LogPlace committed;            // MariaDB: so much of its log is visible (log.h)
    std::set<binlog::Xid> listed;  // MariaDB: but for these, asked behind it
  };
  // What is committed is told so often, however seldom proofs are due: checkpoints wait for it.
  static constexpr std::chrono::nanoseconds kReportEveryMax = std::chrono::seconds(1);
  using Report = std::function<void(const Word& word)>;

  ServerProbe(Settings settings, Report report);
  ServerProbe(const ServerProbe&) = delete;
  ServerProbe& operator=(const ServerProbe&) = delete;
  ~ServerProbe() = default;

  // Its connection is gone, or the log may have begun anew: what it would tell from now on could be
  // of another log than the one that is read.
  bool has_ended() const { return has_ended_.load(std::memory_order_acquire); }
  const std::string& why() const { return why_; }  // then

 private:
  void run(const std::stop_token& stop);
  // Why it has ended.
  std::string ask_until_it_fails(const std::stop_token& stop);
  std::expected<ReplicaLag, std::string> ask(MysqlConnection& connection, Word& word) const;
  std::chrono::nanoseconds proven_every() const {
    return settings_.max_lag / config::kPollsPerMaxLag;
  }

  Settings settings_;
  Report report_;
  std::string why_;
  std::atomic<bool> has_ended_{false};
  std::jthread thread_;
};

// All that has been committed: MariaDB's gtid_binlog_pos, MySQL's gtid_executed.
std::expected<LogPosition, MysqlError> server_position(MysqlConnection& connection);

// By what the server's own groups are known in its position.
std::expected<LogServer, MysqlError> log_server(MysqlConnection& connection);

// Tells one server from another.
std::expected<std::string, MysqlError> server_identity(MysqlConnection& connection);

// An error if it is another server that answers: a name may lead to several, and what one says of
// its log or its rows means nothing beside what another does.
std::expected<MysqlConnection, MysqlError> open_same_server(const MysqlLogin& login,
                                                            std::string_view identity);

}  // namespace cuckooguard::source
