// Follows a MariaDB or MySQL server: its binary log, transaction by transaction, and beside it whatever
// table has to be read.
//
//   connect ─▶ position ─▶ log from there ─▶ apply … ─┬─▶ tables are due: a TableLoader reads them
//      ▲                                              │      (at the start: all)
//      │◀── connection lost: the log from where we are┤
//      └◀── the log from there is gone: all anew ─────┘
//
// fresh_until is moved by ServerProbe alone, so that a log that lags, hangs or is not read makes all pass.
// Of several addresses the first that can be followed is. That they are servers of one cluster is the
// operator's word: a position is resumed on any of them that has it. Behind a single address another
// server (by its identity) means that all is read anew.
//
// Called by: SourceThread. Threads: the source's, the probe's and a loader's, which meet in TableSet.
// Errors: none; what is wrong is reported by on_state, and passes. Limits: those of its parts.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "source/backoff.h"
#include "source/checkpoint_writer.h"
#include "source/feeds.h"
#include "source/follower.h"
#include "source/log_stream.h"
#include "source/row_lookup.h"
#include "source/server_probe.h"
#include "source/source.h"
#include "source/table_loader.h"
#include "source/table_set.h"

namespace cuckooguard::source {

struct LogFollowerSettings {
  std::string name;                // of the source
  std::vector<MysqlLogin> logins;  // tried in this order
  std::optional<std::uint32_t> server_id;
  std::chrono::nanoseconds max_lag;
  OpenView open_view = source::open_view;
  Storage storage;
  Observer* observer = nullptr;                        // with storage
  std::shared_ptr<FollowedServer> followed = nullptr;  // is told; may be null
};

class LogFollower final : public Follower {
 public:
  static constexpr std::chrono::milliseconds kBackoffMin{100};
  static constexpr std::chrono::seconds kBackoffMax{10};

  // What the operator can mend before the start, if a server can be reached: one that cannot is no
  // reason not to start.
  static std::vector<Refusal> check(const LogFollowerSettings& settings,
                                    std::span<const Target> targets);

  LogFollower(LogFollowerSettings settings, Feeds feeds, Clock clock);
  ~LogFollower() override;

  std::chrono::nanoseconds step(const std::stop_token& stop) override;
  void finish() override;
  SourceStatus status() const override { return tables_.status().read(); }
  Reached reached(std::string_view position) const override {
    return tables_.status().reached(position);
  }

 private:
  using Duration = std::chrono::nanoseconds;
  using Done = std::expected<void, MysqlError>;

  Duration connect(const std::stop_token& stop);
  Done connect_to(const MysqlLogin& login);
  Done decide_whether_it_goes_on(MysqlConnection& connection);
  Done check_server(MysqlConnection& connection);
  Done begin_anew(MysqlConnection& connection);
  std::expected<bool, MysqlError> take_up(MysqlConnection& connection);
  Done begin_stream(const MysqlLogin& login);
  Duration follow(const std::stop_token& stop);
  Done follow_one(const std::stop_token& stop);
  void load_what_is_due();
  Duration lose(std::string_view why);
  Duration lose_in_trouble(std::string_view why);

  LogFollowerSettings settings_;
  Clock clock_;
  std::minstd_rand random_;
  TableSet tables_;

  MysqlLogin login_;  // of the server that is followed
  std::string identity_;
  bool is_position_gone_ = false;  // the server's log does not have what comes behind ours
  std::unique_ptr<LogStream> stream_;
  std::unique_ptr<ServerProbe> probe_;
  std::unique_ptr<TableLoader> loader_;
  std::unique_ptr<CheckpointWriter> checkpoints_;
  bool has_tried_checkpoints_ = false;
  Backoff backoff_{kBackoffMin, kBackoffMax};
};

}  // namespace cuckooguard::source
