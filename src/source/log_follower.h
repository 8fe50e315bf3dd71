// Follows a MariaDB server: a snapshot of all tables, then its binary log, transaction by transaction.
//
//   connect ─▶ check, plan ─▶ view: position p ─▶ read all tables ─▶ publish ─▶ log from p ─▶ apply …
//      ▲                                                                         │    │
//      │◀── the log from p is gone: all anew ────────────────────────────────────┤    └─▶ a table is out of step:
//      └◀── connection lost: the log from where we are ──────────────────────────┘         read it alone, join at its view
//
// fresh_until is moved by ServerProbe alone. While a table is read nothing is applied, so that all tables of
// the source pass after max_lag; the log waits on the server.
//
// Called by: SourceThread. Threads: the source's, and the probe's, which meet in `applying_`. Errors: none;
// what is wrong is reported by on_state, and passes. Limits: those of its parts.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <expected>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "source/feed.h"
#include "source/follow_status.h"
#include "source/follower.h"
#include "source/log_applier.h"
#include "source/log_feed.h"
#include "source/log_stream.h"
#include "source/mysql_server.h"
#include "source/server_probe.h"
#include "source/source.h"

namespace cuckooguard::source {

struct LogFollowerSettings {
  std::vector<MysqlLogin> logins;  // tried in this order
  std::optional<std::uint32_t> server_id;
  std::chrono::nanoseconds max_lag;
};

class LogFollower final : public Follower {
 public:
  static constexpr std::chrono::milliseconds kBackoffMin{100};
  static constexpr std::chrono::seconds kBackoffMax{10};
  static constexpr std::chrono::seconds kRefusedPause{
      10};  // until what the operator must mend is looked at again
  static constexpr std::chrono::milliseconds kRereadDelayMax{500};

  // What the operator can mend before the start, if a server can be reached: one that cannot is no
  // reason not to start.
  static std::vector<Refusal> check(const LogFollowerSettings& settings,
                                    std::span<const Target> targets);

  LogFollower(LogFollowerSettings settings, std::vector<Feed> feeds, Clock clock);
  ~LogFollower() override;

  std::chrono::nanoseconds step(const std::stop_token& stop) override;
  void finish() override;
  SourceStatus status() const override { return status_.read(); }
  Reached reached(std::string_view position) const override { return status_.reached(position); }

 private:
  using Duration = std::chrono::nanoseconds;
  using Done = std::expected<void, MysqlError>;

  struct Followed {
    explicit Followed(Feed owned) : feed(std::move(owned)) {}

    Feed feed;
    MysqlTable plan;
    std::unique_ptr<LogFeed> rows;
    std::unique_ptr<FollowedTable> table;  // null: its plan was refused
    std::optional<LogPosition> joins_at;   // read, but the log is not as far yet
    bool is_in_step = false;
    TimePoint read_again_at{};  // if neither
  };

  Duration connect(const std::stop_token& stop);
  Done connect_to(const MysqlLogin& login, const std::stop_token& stop);
  Done begin_stream(const MysqlLogin& login);
  Duration follow(const std::stop_token& stop);
  Done follow_one();
  void join_those_due();
  Done read_again(const std::stop_token& stop);
  Done read(const std::vector<Followed*>& chosen, const std::stop_token& stop);
  Done plan(Followed& followed, MysqlConnection& connection);
  static Done is_as_planned(const Followed& followed, MysqlConnection& connection);
  Done read_table(Followed& followed, MysqlConnection& connection, const std::stop_token& stop);
  std::expected<Feed::Intake, MysqlError> read_rows(Followed& followed,
                                                    MysqlConnection& connection,
                                                    const std::stop_token& stop);
  bool refuses(const MysqlServer& server);
  void put_out_of_step(FollowedTable& table, std::string_view why);
  void on_position(TimePoint at, const LogPosition& position);
  Duration lose(std::string_view why);
  void report_all(filter::State state, std::string_view why);

  LogFollowerSettings settings_;
  std::deque<Followed> tables_;
  Clock clock_;
  FollowStatus status_;
  std::minstd_rand random_;

  std::mutex applying_;  // the applier, the filters, the feeds' reports
  std::unique_ptr<LogApplier> applier_;

  std::unique_ptr<LogStream> stream_;
  MysqlLogin login_;  // of the server that is followed
  std::unique_ptr<ServerProbe> probe_;
  int losses_ = 0;
};

}  // namespace cuckooguard::source
