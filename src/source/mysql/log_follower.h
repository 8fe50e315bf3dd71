// Follows a MariaDB or MySQL server: its binary log, transaction by transaction, and beside it
// whatever table has to be read.
//
//   connect ─▶ position ─▶ log from there ─▶ apply … ─┬─▶ tables are due: a TableLoader reads them
//      ▲                                              │      (at the start: all)
//      │◀── connection lost: the log from where we are┤
//      │◀── the log from there is gone: all anew ─────┤
//      └◀── refused: all anew, checkpoints too ───────┘
//
// Must: behind a refusal no position is believed. A server that keeps no log for a while passes no
// positions meanwhile: later it is where it was, without the rows of that while. What refuses us we
// cannot see, so any refusal counts, also of a login.
// Limit: a MariaDB that was started without its log and then with it again, and was asked for
// neither time (a follower that has lost its server asks every kBackoffMax), cannot be told from
// one that stood still.
//
// Must: no position is believed by its number alone. A log that begins anew or loses its end passes
// the same numbers again, so that the stream begins one group early and shows that group first
// (LogGroup); nothing is proven before. Nor is it while one connection lasts, if the server has run
// a RESET meanwhile. A log that does not have that group any more (purged, empty), or has another
// one, is read from its end, and so are all tables.
//
// fresh_until is moved by ServerProbe alone, so that a log that lags, hangs or is not read makes
// all pass. Of several addresses the first that can be followed is. That they are servers of one
// cluster is the operator's word: a position is resumed on any of them that has it. Behind a single
// address another server (by its identity) means that all is read anew.
//
// Threads: the source's, the probe's and a loader's, which meet in TableSet.
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

#include "follow/followed_server.h"
#include "follow/server_follower.h"
#include "mysql/log_stream.h"
#include "mysql/server_probe.h"
#include "mysql/table_reader.h"
#include "source/asking.h"
#include "source/feeds.h"
#include "source/source.h"

namespace cuckooguard::source {

struct LogFollowerSettings {
  std::string name;                // of the source
  std::vector<MysqlLogin> logins;  // tried in this order
  std::optional<std::uint32_t> server_id;
  std::chrono::nanoseconds max_lag;
  OpenView open_view = source::open_view;
  Storage storage;
  Observer* observer = nullptr;                                    // with storage
  std::shared_ptr<FollowedServer<MysqlLogin>> followed = nullptr;  // is told; may be null
  Asking asking{};
};

class LogFollower final : public ServerFollower<MysqlLog> {
 public:
  // What the operator can mend, if a server can be reached: one that cannot is no refusal.
  static std::vector<Refusal> check(std::span<const MysqlLogin> logins,
                                    std::span<const Target> targets);

  LogFollower(LogFollowerSettings settings, Feeds feeds, Clock clock);
  LogFollower(const LogFollower&) = delete;
  LogFollower& operator=(const LogFollower&) = delete;
  ~LogFollower() override;

  void finish() override;

 private:
  // What a server has said of itself before anything that rests on its log.
  struct Before {
    bool logs_what_it_replicates;
    std::string upheavals;
    MysqlStanding standing;
  };

  bool is_connected() const override { return stream_ != nullptr; }
  Duration connect(const std::stop_token& stop) override;
  void disconnect() override;
  Done connect_to(const MysqlLogin& login);
  Done decide_whether_it_goes_on(MysqlConnection& connection, std::string_view identity);
  std::expected<MysqlServer, MysqlError> check_server(MysqlConnection& connection) const;
  Done begin_anew(TableReader& reader);
  TableReader::Settings reader_settings() const override {
    return {
        .login = login_, .identity = identity_, .open_view = settings_.open_view, .clock = clock_};
  }
  Done begin_stream(const Before& before);
  void begin_probe(const Before& before);
  Duration follow(const std::stop_token& stop) override;
  Done follow_one(const std::stop_token& stop);

  LogFollowerSettings settings_;
  std::minstd_rand random_;

  MysqlLogin login_;         // of the server that is followed
  bool is_cluster_ = false;  // of several, any of which may go on where another has been
  // Its log does not have what comes before the server's own position, or its numbers were set back
  // behind the beginning of its log: it is read from its end, wherever that is.
  bool is_earlier_gone_ = false;
  std::optional<LogPlace> begins_at_;
  std::unique_ptr<LogStream> stream_;
  std::unique_ptr<ServerProbe> probe_;
};

}  // namespace cuckooguard::source
