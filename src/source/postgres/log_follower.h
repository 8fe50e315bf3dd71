// Follows a PostgreSQL server: its log through a slot, transaction by transaction, and beside it
// whatever table has to be read.
//
//   connect ─▶ slot ─▶ log from there ─▶ apply … ─┬─▶ tables are due: a TableLoader reads them
//      ▲                                          │      (at the start: all)
//      │◀── connection lost: the log from where we are, if the slot is kept
//      └◀── slot lost, another server or timeline, refused: all anew, in a new slot
//
// A slot and the last transaction before it are what a position rests on: while the slot is there
// the server keeps what comes behind it, and sends no more and no less; that transaction, which
// comes first when the stream is resumed, shows that it is the same log. So a position counts as
// long as the slot does (Slot::is_usable) and was not confirmed further than that. Where
// there has been no transaction for long the probe has one written. A slot that is kept (with
// storage) is confirmed up to what stands in checkpoints, and dropped when nobody will go on there
// (let_go()); a temporary one, which ends with its session, is confirmed up to what was applied,
// and all tables are read again behind a loss.
//
// Must: behind a refusal no position is believed; of a server of another system identifier or
// timeline, or of another log (a failover, a restore) all is read anew.
// Limit: a former primary that goes on by itself, cut off from the one that has taken its place, is
// followed for as long as it answers.
//
// fresh_until is moved by ServerProbe alone, so that a log that lags, hangs or is not read makes
// all pass.
//
// Threads: the source's, the probe's, a loader's and the checkpoint writer's, which meet in
// TableSet. Errors: none; what is wrong is reported by on_state, and passes. Limits: those of its
// parts; a slot is made within kSlotWaitMax, for it waits for transactions that run.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.h"
#include "follow/ending_thread.h"
#include "follow/followed_server.h"
#include "follow/server_follower.h"
#include "follow/server_reader.h"
#include "follow/table_loader.h"
#include "pgoutput/lsn.h"
#include "postgres/connection.h"
#include "postgres/fingerprints.h"
#include "postgres/log.h"
#include "postgres/log_applier.h"
#include "postgres/server.h"
#include "postgres/table.h"
#include "source/feeds.h"
#include "source/follower.h"
#include "source/source.h"

namespace cuckooguard::source::postgres {

// A session in which tables of PostgreSQL are read, as a TableLoader wants it
// (follow/table_loader.h), and in which a restart looks at them (follow/restore.h).
//
// A view is a REPEATABLE READ transaction; which transactions it shows pg_current_snapshot() says
// in it. It serves if it shows all that was applied before (log.h): the log may be ahead of what is
// visible for as long as a commit takes, or a synchronous standby is silent. And it shows whoever
// is writing to the table then, behind its plan: a table can be published while they write, and of
// what they wrote before the log has no word.
//
// Threads: one, but interrupt(), which is any's. Errors: Error. Limits: kViewWaitMax for a
// view that serves; the view holds back vacuum while it is open; whoever waits for a lock on a
// table that is read waits kLookEvery and a little.

// How a view is opened on a session; tests put a wrong one in its place.
using OpenView = Expected<ReadView> (*)(Connection& connection);
Expected<ReadView> open_view(Connection& connection);

struct TableReaderSettings {
  Login login{};
  std::string identity{};  // of the server that is followed: server_identity()
  Place place{};
  OpenView open_view = postgres::open_view;
  Clock clock{};
};

class TableReader final : public ServerReader<Log> {
 public:
  static constexpr std::chrono::seconds kViewWaitMax{20};
  static constexpr std::chrono::seconds kLookEvery{1};
  static constexpr std::string_view kUnsure = "tables are created and dropped too often";

  using ServerReader::ServerReader;
  static Expected<TableReader> open(const Settings& settings);

  Expected<LogPosition> position();
  Planned<std::vector<std::string>> find(std::span<const std::string> wanted) {
    return find_tables(connection_, settings_.place, wanted);
  }
  Planned<TablePlan> plan(const Target& target, const std::string& table);
  // Of the table that was planned last.
  Expected<ReadView> open_view(const LogPosition& from,
                               TableSet<Log>& tables,
                               const std::stop_token& stop);
  Done close_view() { return connection_.roll_back(); }
  Expected<TableEstimate> size(const TablePlan& plan);
  Expected<Rows> stream(const TablePlan& plan) {
    return connection_.stream(plan.copy_sql(), plan.needed().size());
  }
  // For this session, whatever the lock is.
  bool is_somebody_waiting(const TablePlan& plan);

 private:
  std::string process_ = "0";             // of the session, at the server
  std::optional<Connection> observer_{};  // of who waits for it
  std::uint32_t planned_oid_ = 0;         // of the table that was planned last
  TimePoint look_at_{};
};

// Asks PostgreSQL over and over how far its log is, what everybody sees by now, and whether its
// tables are still what they were: several times per max_lag, and in between when a reader wants it
// (source/follower.h).
//
// The proof. At time t, before the question is sent, every commit that has returned is in the log
// before the place where it is being written (the insert position p): that of what was flushed is
// not enough, since a commit with synchronous_commit = off is visible before it is (seen; notes on
// reach, E.1). Whoever has applied all before p has all that was committed before t, if the tables
// are still those of the catalog, which is asked with it.
//
// What a question is, in one round trip. The whole one: p, the watch of the catalog, the tables'
// fingerprints, the slot. One for a reader: p and the watch (CatalogScope), by which the
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

// Whether PostgreSQL's catalog still says of tables what it said when their fingerprints were
// asked: for a hundredth of what asking those again costs, so that each question can have it.
//
// Every row of the catalog has in `xmin` the transaction that has written it, and no row that a
// transaction has written is seen before all of them are. So if the rows that fingerprints are made
// of have the xmins that they had, none has come, and none has gone: the fingerprints are the same.
//
//   scope    which rows those are: the tables by name, their partitions, heirs and wholes, and the
//            enums of their columns. It follows from rows that are watched: of each table of the
//            scope whose parts, and part of what, it is
//   watch    the xmins, and whether row security is active, which rests on the role's rights
//
// Must: a watch that fingerprints are believed by was read before the scope, and that before them,
// each with a snapshot of its own; and the scope was the one that the watch is of. Then whatever
// has changed since the watch is in the next one.
//
// Costs the server (PostgreSQL 15) 0.1 ms for one table, 0.2 for ten, 1.5 for a hundred, where
// fingerprints take 0.4, 3 and 14.
//
// Threads: free functions. Source: PostgreSQL's documentation, 53 (system catalogs) and 5.5 (xmin;
// freezing leaves it as it was, VACUUM FULL of the catalog does not: then all is asked again). What
// VACUUM, ANALYZE and CREATE INDEX write into a row where it stands (heap_inplace_update) is in no
// fingerprint.

// As arrays of oids, in text.
struct CatalogScope {
  std::string schema;
  std::string tables;   // of which fingerprints are
  std::string members;  // and their partitions, heirs and wholes
  std::string enums;

  bool operator==(const CatalogScope&) const = default;
};

// To be prepared in one session, and executed as `scope` and `watch` in it.
Done prepare_scope(Connection& connection,
                   std::string_view schema,
                   std::span<const std::string> tables);
Expected<CatalogScope> scope_of(const Answer& answer);

struct CatalogWatch {
  std::string_view schema;
  std::string_view publication;
  std::span<const std::string> tables;
  bool is_one = false;  // one was prepared before, which goes
};
Done prepare_watch(Connection& connection, const CatalogScope& scope, const CatalogWatch& watch);
std::string watch_of(const Answer& answer);  // never empty

class ServerProbe {
 public:
  struct Settings {
    Login login;
    std::string identity;  // of the server that is followed: server_identity()
    Place place;
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
    LogPosition position;
    Committed committed;
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
  using IsApplied = std::function<bool(const LogPosition& position)>;

  ServerProbe(Settings settings, Report report, IsApplied is_applied);

  bool has_ended() const { return thread_.has_ended(); }
  const std::string& why() const { return thread_.why(); }  // then

 private:
  // Why it has ended.
  std::string ask_until_it_fails(const std::stop_token& stop);
  Done prepare(Connection& connection);
  Expected<Word> ask(Connection& connection);
  // False: the catalog has changed.
  Expected<bool> ask_shortly(Connection& connection);
  Done ask_wholly(Connection& connection);
  Done take_catalog(Connection& connection, std::vector<Answer> answers);
  Done have_sent_on(Connection& connection, Word& word, bool is_wanted);
  Done nudge(Connection& connection, Word& word, bool by_transaction);
  void pursue(const Word& word, bool is_wanted);
  std::chrono::nanoseconds whole_every() const;

  Settings settings_;
  Report report_;
  IsApplied is_applied_;
  // Its thread's:
  LogHead head_;
  std::optional<CatalogScope> scope_;  // of the watch that is prepared
  std::string watched_;  // by which the fingerprints are believed; empty: they are not
  std::shared_ptr<const TableFingerprints> fingerprints_;
  std::uint64_t retained_ = 0;
  TimePoint whole_at_{};
  std::optional<LogPosition> last_;  // of a whole question
  std::optional<TimePoint> nudged_at_;
  LogPosition written_;  // where the last message is
  std::string why_not_flushed_;
  std::optional<TimePoint> pursued_since_;
  EndingThread thread_{[this](const std::stop_token& stop) { return ask_until_it_fails(stop); }};
};

// A session in which PostgreSQL sends its log through a slot, as pgoutput's messages.
//
//   next() ◀── messages, keepalives        ──▶ what has been received, and what need not be kept
//
// The server says how far it has sent when it is asked (ask()), or every so often by itself. It
// keeps its log from confirm()'s place on: for as long as nothing is confirmed, all of it.
//
// A server that is shut down waits until all that it has logged is confirmed: it asks for word over
// and over. That is never to be had, since the last transaction is to come again: whoever is asked
// so ends the stream, and the server goes.
//
// Threads: the source's, but ask() and confirm(): any, while it lives. Lifetimes: an event is valid
// until the next call. Errors: Error. Limits: nothing is heard for
// Login::timeout although it was asked: the server is lost.
// Source: PostgreSQL's documentation, 55.4 (streaming replication protocol); walsender.c,
// WalSndDone().
class LogStream {
 public:
  struct Settings {
    std::string slot;
    std::string publication;
    LogPosition from;
    Clock clock;
    std::chrono::nanoseconds timeout;  // to hear something, once it is asked
  };
  static constexpr std::chrono::seconds kStatusEvery{1};
  // Requests for word within kStatusEvery by which a server is known that shuts down.
  static constexpr int kRequestsMax = 5;

  // Messages of one transaction beyond which there is time until its end.
  static constexpr std::uint64_t kFewMessages = 64;

  // Takes the session over: it can do nothing else from now on.
  static Expected<LogStream> begin(Connection replication, Settings settings);

  // Nothing: none has come within `wait`.
  Expected<std::optional<LogEvent>> next(std::chrono::milliseconds wait);

  // The server is to say how far it has sent.
  void ask() const;
  // What is before this need not be kept.
  void confirm(LogPosition position) const;
  // Says so to the server, without waiting for the next time.
  Done tell();

 private:
  struct Shared {
    std::atomic<bool> is_asked{false};
    std::atomic<std::uint64_t> confirmed{0};
  };

  LogStream(Connection session, Settings settings)
      : session_(std::move(session)),
        settings_(std::move(settings)),
        heard_at_(settings_.clock()),
        told_at_(heard_at_),
        requests_since_(heard_at_) {}

  Done tell_in_time();
  Done send_status(bool asks);
  Expected<std::optional<LogEvent>> on_keepalive(pgoutput::Lsn end, bool wants_word);

  Connection session_;
  Settings settings_;
  std::unique_ptr<Shared> shared_ = std::make_unique<Shared>();
  pgoutput::Lsn received_{};
  std::uint64_t messages_ = 0;  // since a transaction's end
  TimePoint heard_at_;
  TimePoint told_at_;
  bool is_waiting_ = false;  // for an answer
  TimePoint requests_since_;
  int requests_ = 0;
};

// The slot, or what it should still have, is not there: all is to be read anew.
bool is_position_gone(const Error& error);

struct LogFollowerSettings {
  std::string name;  // of the source
  Login login;
  Place place;
  std::string slot;  // kept between sessions; empty: a temporary one
  std::chrono::nanoseconds max_lag;
  OpenView open_view = postgres::open_view;
  Storage storage;
  Observer* observer = nullptr;
  std::shared_ptr<FollowedServer<Login>> followed = nullptr;  // is told; may be null
  Asking asking{};

  const std::string& schema() const { return place.schema; }
};

class LogFollower final : public ServerFollower<Log> {
 public:
  static constexpr std::chrono::minutes kSlotWaitMax{10};
  // Bytes of the server's log, behind the last transaction of the publication's or in it: then
  // another one is written. And if the slot keeps so much although none is that large (a
  // transaction of others, one that was open for long), one per kWrittenAgain.
  static constexpr std::uint64_t kLogBetweenMax = std::uint64_t{1} << 20U;
  static constexpr std::uint64_t kRetainedMax = std::uint64_t{32} << 20U;
  static constexpr std::chrono::seconds kWrittenAgain{15};
  // Where none may be written: beyond that the log is given back, and a lost connection reads all.
  static constexpr std::uint64_t kLogKeptMax = std::uint64_t{1} << 30U;

  // What the operator can mend, if a server can be reached: one that cannot is no refusal.
  static std::vector<Refusal> check(const Login& login,
                                    const Place& place,
                                    std::string_view slot,
                                    std::span<const Target> targets);

  LogFollower(LogFollowerSettings settings, Feeds feeds, Clock clock);
  LogFollower(const LogFollower&) = delete;
  LogFollower& operator=(const LogFollower&) = delete;
  ~LogFollower() override;

  void let_go() override { lets_go_ = true; }

 private:
  bool keeps_slot() const { return !settings_.slot.empty(); }

  std::string log_identity() const override { return timeline_of(identity_); }
  Duration connect(const std::stop_token& stop) override;
  Done try_to_connect(const std::stop_token& stop);
  // What a start must know of a server, and is refused by; check() asks the same.
  struct Asked {
    std::string identity;
    Server server;
    std::optional<Slot> slot;
  };
  static Expected<Asked> ask_all(Connection& connection, const Place& place, std::string_view slot);
  Done check_server(const Asked& asked) const;
  Expected<bool> can_go_on(const Slot& slot);
  Done begin_anew(Connection& connection, Connection& replication, bool has_slot);
  Done begin_stream(Connection& connection, Connection replication);
  bool needs_transaction(std::uint64_t retained);
  LogPosition confirmed() const;
  Error end_reader(Connection& connection, const Slot& slot) const;
  void begin_probe();
  void heard(const ServerProbe::Word& word);
  TableReaderSettings reader_settings() const override {
    return {.login = settings_.login,
            .identity = identity_,
            .place = settings_.place,
            .open_view = settings_.open_view,
            .clock = clock_};
  }
  // Says on the stream what is kept: so no stop interrupts it (wake()).
  void leave_stream() override;
  void leave_slot();
  Done follow_one(const std::stop_token& stop) override;

  std::vector<std::string> names_;  // and patterns, of all tables
  std::string slot_;                // its name, if it is temporary, too
  // Checkpoints have all up to there; their writer outlives it.
  std::shared_ptr<std::atomic<std::uint64_t>> kept_ =
      std::make_shared<std::atomic<std::uint64_t>>();
  std::atomic<bool> lets_go_ = false;
  std::uint64_t reader_ = 0;      // the process on the server that followed, or follows, for us
  std::string why_not_flushed_;   // as it was told; the probe's thread
  TimePoint written_again_at_{};  // likewise
  std::atomic<bool> may_not_write_ = false;
};

}  // namespace cuckooguard::source::postgres
