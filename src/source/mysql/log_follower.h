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
// neither time (a follower asks it every kRefusedMax, or more often), cannot be told from one that
// stood still.
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
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "binlog/event_header.h"
#include "follow/followed_server.h"
#include "follow/server_follower.h"
#include "follow/server_reader.h"
#include "follow/table_loader.h"
#include "follow/table_set.h"
#include "mysql/connection.h"
#include "mysql/log.h"
#include "mysql/log_applier.h"
#include "mysql/log_place.h"
#include "mysql/log_position.h"
#include "mysql/read_view.h"
#include "mysql/server_probe.h"
#include "mysql/table.h"
#include "source/feeds.h"
#include "source/follower.h"
#include "source/source.h"

namespace cuckooguard::source::mysql {

// Opens a table, which waits for the definition that is being carried out on it. The server's
// answer.
using OpenTable = std::function<Done(const std::string& table)>;

// Whether not one of these tables exists, although a listing has missed them all. An error if that
// of one cannot be told.
Expected<bool> are_all_gone(const std::vector<std::string>& tables, const OpenTable& open);

// A session in which tables are read, as a TableLoader wants it (follow/table_loader.h), and in
// which a restart looks at them (follow/restore.h).
//
// Threads: one, but interrupt(), which is any's. Errors: Error. Limits: whoever waits for a
// lock on a table that is read, or for who waits, waits LockProbe::kEvery and a little.

// Whether somebody waits for a lock on a table that a load holds by reading it.
//
// A transaction keeps a metadata lock on what it has read until it ends. An ALTER waits for it, and
// all who come later wait for the ALTER, readers too: an application stands still for as long as a
// load takes. Who waits is not shown to an account with our rights. But a reader that would not
// wait is refused at once: that is how it is asked here, on a connection of its own, with a
// statement that reads no row.
//
// Threads: its own. Errors: none; who cannot ask hears of nobody, and asks again later. Limits:
// asks once each kEvery, not before a load has lasted so long; MySQL lets it wait no less than a
// second.
// Source: MDL priorities of MariaDB 10.11 (a pending exclusive lock goes before new shared ones),
// seen with ALTER TABLE.
class LockProbe {
 public:
  static constexpr std::chrono::seconds kEvery{1};

  // `identity`: of the server that is read, server_identity().
  LockProbe(Login login, std::string identity, Clock clock);

  bool is_due() const { return clock_() >= next_; }
  bool is_somebody_waiting(const TablePlan& table);

 private:
  bool is_connected();

  Login login_;
  std::string identity_;
  Clock clock_;
  TimePoint next_;
  std::optional<Connection> connection_;
};

struct TableReaderSettings {
  Login login{};
  std::string identity{};  // of the server that is followed: server_identity()
  OpenView open_view = mysql::open_view;
  Clock clock{};
};

class TableReader final : public ServerReader<Log> {
 public:
  static constexpr std::string_view kUnsure =
      "the server does not show tables whose rows are in its log";

  using ServerReader::ServerReader;
  static Expected<TableReader> open(const Settings& settings);

  Expected<LogPosition> position() { return server_position(connection_); }
  Planned<std::vector<std::string>> find(std::span<const std::string> wanted) {
    return find_tables(connection_, wanted);
  }
  // A definition in the log may be visible a moment later: MySQL commits it after it has logged it.
  Expected<bool> shows_all_of(const TableSetLog<Log>& log);
  Expected<bool> are_gone(Listing& listing, const Listing::Tables& found);
  Planned<TablePlan> plan(const Target& target, const std::string& table) {
    return plan_table(connection_, target, table);
  }
  // Once those XA transactions are done that the log has ended (log_follower.cpp), and the server
  // says what is to be believed, or for now.
  Expected<ReadView> open_view(const LogPosition& from,
                               TableSet<Log>& tables,
                               const std::stop_token& stop);
  Expected<TableEstimate> size(const TablePlan& plan);
  Expected<Rows> stream(const TablePlan& plan) { return connection_.stream(plan.select_sql()); }
  // Asked LockProbe::kEvery at most.
  bool is_somebody_waiting(const TablePlan& plan);

 private:
  Expected<ReadView> open_believed_view(const LogPosition& from,
                                        TableSet<Log>& tables,
                                        const std::stop_token& stop);

  bool has_waited_ = false;         // for a view that is believed
  std::optional<LockProbe> locks_;  // since the first table's rows
};

// A connection on which a server sends its binary log, from a position on.
//
// The server speaks at least once per kHeartbeatEvery; whoever hears nothing for
// Login::timeout has lost it. A heartbeat proves that the connection lives, not that it is
// current (docs/design.md, Sources).
//
// Threads: the source's; interrupt() from any.
// Errors: Error; is_position_gone() if the server has purged, or never had, what comes behind
// the position: a new snapshot is due. Limits: those of Connection.
// Source: MariaDB's "Replication Protocol", MySQL's COM_BINLOG_DUMP_GTID; seen with both servers.

inline constexpr std::chrono::milliseconds kHeartbeatEvery{200};

class LogStream {
 public:
  struct Settings {
    std::uint32_t server_id = 0;  // no other replica's: the server ends the older of two
    bool ends_at_last = false;    // instead of waiting for more
    std::optional<LogPlace> place =
        std::nullopt;  // MariaDB: from here instead, whatever its numbers are
  };

  // Takes the connection over: it can do nothing else from now on.
  static Expected<LogStream> begin(Connection connection,
                                   const LogPosition& position,
                                   const Settings& settings);

  // The next event's bytes, valid until the next call; nothing at the end, with `ends_at_last`.
  Expected<std::optional<std::string_view>> next();

  // Of the events that come before the first format description.
  binlog::ChecksumAlgorithm checksum() const { return checksum_; }
  void interrupt() const { connection_.interrupt(); }

 private:
  LogStream(Connection connection, binlog::ChecksumAlgorithm checksum)
      : connection_(std::move(connection)), checksum_(checksum) {}

  Connection connection_;
  binlog::ChecksumAlgorithm checksum_;
};

bool is_position_gone(const Error& error);

struct LogFollowerSettings {
  std::string name;           // of the source
  std::vector<Login> logins;  // tried in this order
  std::optional<std::uint32_t> server_id;
  std::chrono::nanoseconds max_lag;
  OpenView open_view = mysql::open_view;
  Storage storage;
  Observer* observer = nullptr;                               // with storage
  std::shared_ptr<FollowedServer<Login>> followed = nullptr;  // is told; may be null
  Asking asking{};

  const std::string& schema() const { return logins.front().database; }
};

class LogFollower final : public ServerFollower<Log> {
 public:
  // What the operator can mend, if a server can be reached: one that cannot is no refusal.
  static std::vector<Refusal> check(std::span<const Login> logins, std::span<const Target> targets);

  LogFollower(LogFollowerSettings settings, Feeds feeds, Clock clock);
  LogFollower(const LogFollower&) = delete;
  LogFollower& operator=(const LogFollower&) = delete;
  ~LogFollower() override;

 private:
  // What a server has said of itself before anything that rests on its log.
  struct Before {
    bool logs_what_it_replicates;
    std::string upheavals;
    Standing standing;
  };

  Duration connect(const std::stop_token& stop) override;
  Done connect_to(const Login& login);
  Done decide_whether_it_goes_on(Connection& connection, std::string_view identity);
  Expected<Server> check_server(Connection& connection) const;
  Done begin_anew(TableReader& reader);
  TableReaderSettings reader_settings() const override {
    return {
        .login = login_, .identity = identity_, .open_view = settings_.open_view, .clock = clock_};
  }
  Done begin_stream(const Before& before);
  void begin_probe(const Before& before);
  Done follow_one(const std::stop_token& stop) override;
  void wake() override { stream_->interrupt(); }
  void on_position_gone() override { is_earlier_gone_ = !tables_.log.can_resume(); }

  std::minstd_rand random_;

  Login login_;              // of the server that is followed
  bool is_cluster_ = false;  // of several, any of which may go on where another has been
  // Its log does not have what comes before the server's own position, or its numbers were set back
  // behind the beginning of its log: it is read from its end, wherever that is.
  bool is_earlier_gone_ = false;
  std::optional<LogPlace> begins_at_;
};

}  // namespace cuckooguard::source::mysql
