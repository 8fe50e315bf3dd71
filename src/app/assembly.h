// All parts of a running guard, made and wired in the order in which they need each other, and
// ended in reverse.
//
// A reload (assembly_reload.cpp) replaces what the configuration makes, but for what needs a
// restart (config::keep_what_needs_a_restart):
//   reload thread: reads the file, makes the next Generation ─ refused? then nothing has happened
//   each worker, between two batches: its guard adopts it, its clients its limits; and the admin
//   server's guard on its thread ─┐
//   reload thread, when all have ◀┘ the old generation ends, the new sources begin
// No client is closed for it, and no command is decided by anything but one generation: a batch is
// one or the other. Sessions keep every reply that they have already promised: it is in their
// ReplyOrder as bytes; keys whose reply is compared carry their numbering (guard/absent_key.h); a
// held command is asked again as if it had just come.
//
// Threads: the main thread's, until run() begins the reload thread, whose the generation and what
// asks about it are from then on, until it has ended. One worker thread each, one thread per
// source, one for each control connection, one for the admin server, one that verifies.
// Errors: refusals() before anything is bound; std::system_error if the port cannot be bound.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/core/noncopyable.hpp>

#include "app/admin_server.h"
#include "app/endpoints.h"
#include "app/generation.h"
#include "app/guests.h"
#include "app/kept_overlays.h"
#include "app/load_report.h"
#include "app/row_desk.h"
#include "app/source_list.h"
#include "app/supervisor.h"
#include "app/tls_sides.h"
#include "config/config.h"
#include "filter/epochs.h"
#include "filter/live_parts.h"
#include "guard/contradictions.h"
#include "guard/fact_table.h"
#include "guard/guard.h"
#include "guard/process.h"
#include "io/asio_loop.h"
#include "io/clock.h"
#include "io/listener.h"
#include "io/tls_credentials.h"
#include "io/worker.h"
#include "keyspace/keyspace.h"
#include "log/event_log.h"
#include "proxy/balance.h"
#include "proxy/clients.h"
#include "source/input_file.h"
#include "source/source.h"
#include "source/storage_directory.h"
#include "upstream/redis_client.h"
#include "views/process_state.h"

namespace cuckooguard::app {

// What a contradiction comes to: the guard said that a key is absent, and Redis has a value. One
// step at a time, so that tests can drive it.
//
//   asked ─ no row ──────────────────────────────────────────────────────────────▶ hidden_value
//     └─ a row, at T1 ─ max_lag ─▶ the filter at T2: fresh, and absent ─▶ asked again
//                                   ├─ it may exist ─▶ late_row             ├─ gone ─▶ late_row
//                                   │                                       └─ there ─▶ hidden_row
//                                   └─ not fresh: again, up to kFilterPatience, then unknown
//
// Must: hidden_row is said of no row but one that the filter should have had. Proof: the row was
// committed before T1, when the query saw it, so more than max_lag before T2; a filter that is
// fresh at T2 has all rows that were committed by then, and it is still there afterwards, so it was
// not deleted in between. (Deleted and inserted again between the two questions, it would be
// reported wrongly; nobody but an operator could tell.) A row that a filter lacks is found: it
// stays missing until the filter is loaded again, and then it is late_row.
// Indistinguishable from here: a row that came just after the verdict, which is no fault, and one
// that the filter missed for a moment. Both are late_row.
//
// Threads: one. Errors: a question without an answer is asked kAttemptsMax times, then unknown.
// Limits: one question per kAskEvery; kSuspectsMax keys at a time, the others wait in
// guard::Contradictions. All are forgotten every kForgetEvery, so that a key that was explained can
// be reported again.
class ContradictionChecker {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  static constexpr std::chrono::seconds kAskEvery{1};
  static constexpr std::chrono::seconds kFilterPatience{60};
  static constexpr std::chrono::hours kForgetEvery{1};
  static constexpr int kAttemptsMax = 5;
  static constexpr std::size_t kSuspectsMax = 64;

  struct Parts {
    guard::Contradictions& contradictions;
    const keyspace::Keyspace& keyspace;
    std::function<TimePoint()> clock;
    // The namespace's filter, now; the source itself; how long the filter may lag behind it.
    std::function<filter::Finding(std::uint32_t ns, const keyspace::Lookup& found)> look_up;
    std::function<source::RowPresence(std::uint32_t ns, std::string_view identity)> ask;
    std::function<std::chrono::nanoseconds(std::uint32_t ns)> max_lag;
    std::function<void(const guard::Contradictions::Key& key, guard::Cause cause)> told;
  };

  explicit ContradictionChecker(Parts parts);

  // Asks one question at most.
  void step();

 private:
  enum class Phase : std::uint8_t { to_ask, waiting, to_confirm };
  struct Suspect {
    guard::Contradictions::Key key;
    Phase phase = Phase::to_ask;
    TimePoint due_at{};  // waiting
    int attempts = 0;
  };
  using Suspects = std::list<Suspect>;

  void look_again(TimePoint now);
  Suspects::iterator next_to_ask();
  bool ask_one();
  void hear(Suspects::iterator suspect, source::RowPresence presence);
  keyspace::Lookup match(const Suspect& suspect);
  Suspects::iterator close(Suspects::iterator suspect, guard::Cause cause);

  Parts parts_;
  Suspects suspects_;
  TimePoint ask_at_;
  TimePoint forget_at_;
  keyspace::IdentityBuffer scratch_;
};

// The thread that looks into contradictions and for attacks, and logs what it finds. In between it
// asks the source what followers want to know (row_desk.h).
//
//   event=hidden_row    each one, at most one per two seconds
//   event=hidden_value, event=contradiction_unknown, event=late_row
//                       the first, then at most one per namespace and kLogEvery, with their number
//                       so far
//   event=hidden_by_lag of a namespace, at most one per kLogEvery (filter/absent_reads.h)
//   event=attack_began, event=attack_ended
//                       of a namespace, within two seconds (guard/counters.h)
//   event=advice        after kAdviseFirst, every kAdviseEvery, and at the end, if something was
//                       read (guard/advice.h)
//
// A key is logged as the hash by which GUARD.EXPLAIN knows it (guard/process.h), and as it is if
// the log may show keys.
//
// One for each loaded configuration: a reload ends it and starts another.
//
// Threads: its own; the constructor and stop() from the owner's. Lifetimes: all that it is given
// outlives it.
class Verification {
 public:
  static constexpr std::chrono::milliseconds kStepEvery{200};
  static constexpr std::chrono::minutes kLogEvery{10};
  static constexpr std::chrono::minutes kAdviseFirst{5};  // after the start, or a reload
  static constexpr std::chrono::hours kAdviseEvery{1};

  struct Parts {
    log::EventLog& log;
    guard::Guard::Parts guarded;     // with its process
    filter::Epochs::Reader& reader;  // its own
    const SourceList& sources;
    guard::Contradictions& contradictions;
    RowDesk& rows;
  };

  explicit Verification(const Parts& parts);
  Verification(const Verification&) = delete;
  Verification& operator=(const Verification&) = delete;
  ~Verification() { stop(); }

  void start() {  // once the workers' guards are known
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }
  void stop() { thread_ = {}; }  // may be called twice
  void advise() const;           // every namespace's sentence, to the log

 private:
  using TimePoint = ContradictionChecker::TimePoint;

  void run(const std::stop_token& stop);
  filter::Finding look_up(std::uint32_t ns, const keyspace::Lookup& found);
  source::RowPresence ask(std::uint32_t ns, std::string_view identity);
  source::RowAnswer answer(const guard::RowQuestion& question, const std::stop_token& stop);
  void log(const guard::Contradictions::Key& key, guard::Cause cause);
  void look_for_attacks();
  void look_at_log();

  Parts parts_;
  ContradictionChecker checker_;
  std::stop_token stop_;
  std::string why_unknown_;  // the source's last words
  std::map<std::pair<std::uint32_t, guard::Cause>, TimePoint> logged_at_;
  struct Hidden {
    std::uint64_t rows;  // as of the last event, or the beginning
    TimePoint quiet_until{};
  };
  std::map<std::uint32_t, Hidden> hidden_;  // just behind their commit
  std::jthread thread_;
};

// A configuration as it was read: every setting, secrets too, and the stamps of the files they name
// (certificates, passwords, tokens). Two are equal only if nothing has changed.
//
// Not the rows of a `file` source, which are looked at all the time.
//
// Threads: values. Errors: none; a file that cannot be looked at is compared by why.
class SettingsAsRead {
 public:
  // Looks at the files: before they are read.
  explicit SettingsAsRead(const config::Config& config);

  bool operator==(const SettingsAsRead&) const = default;

 private:
  void look_at(const std::string& path);  // empty: there is none

  config::Config config_;
  std::vector<std::expected<source::FileStamp, std::string>> files_;
};

// Runs reloads one at a time on a thread of its own, since opening databases would block a worker
// or the acceptor.
//
//   SIGHUP, GUARD.RELOAD, POST /-/reload ── ask(), outcome() ──▶ [wanted] ──▶ load() ──▶ outcome
//
// A request during a reload gets the outcome of the next one, which starts when that has ended, so
// that later changes of the file are surely read. All requests until then share it.
//
// Threads: any; load() on its own. Lifetimes: what load() refers to, and the log, outlive it.
// Errors: an exception of load() is an outcome.
class ReloadThread final : public guard::Reloads {
 public:
  using Lines = std::vector<std::string>;
  struct Taken {
    Lines needs_restart{};
    bool is_unchanged = false;  // as guard::ReloadOutcome
  };
  // What is in force now, or what is wrong: then all is as it was.
  using Loaded = std::expected<Taken, Lines>;
  using Load = std::function<Loaded(const std::stop_token& stop)>;

  ReloadThread(Load load, log::EventLog& log);
  ReloadThread(const ReloadThread&) = delete;
  ReloadThread& operator=(const ReloadThread&) = delete;
  ~ReloadThread() { stop(); }

  void start() {
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }
  void stop() { thread_ = {}; }  // waits for load(), which is asked to end; may be called twice

  void ask(std::string_view who);
  std::optional<guard::ReloadOutcome> outcome(io::TimePoint since, std::string_view who) override;
  guard::ReloadOutcome last() const override;

 private:
  void run(const std::stop_token& stop);
  void want(std::string_view who);  // the lock is held
  void end(Loaded loaded);

  Load load_;
  log::EventLog& log_;
  mutable std::mutex mutex_;
  std::condition_variable_any wanted_changed_;
  bool is_wanted_ = false;
  std::optional<io::TimePoint> running_since_;
  std::optional<io::TimePoint> last_began_;
  guard::ReloadOutcome last_;
  std::jthread thread_;
};

// The log's last events for the page (views/process_state.h): those that are written, at info and
// above, but never a key, even where the log shows them.
//
// Threads: any. Lifetimes: the log shares it. Limits: kLinesMax events, kLineBytesMax of each.
class RecentEvents final : public views::EventList {
 public:
  static constexpr std::size_t kLinesMax = 200;
  static constexpr std::size_t kLineBytesMax = 1024;

  // Hears this log from now on.
  static std::shared_ptr<RecentEvents> of(log::EventLog& log);

  std::vector<views::Event> after(std::uint64_t number) const override;

 private:
  void hear(const log::Event& event);

  mutable std::mutex mutex_;
  std::uint64_t last_ = 0;
  std::deque<views::Event> events_;
};

// From the first SIGTERM or SIGINT to the end of the process.
//
//   signal ──▶ on_begin: not ready, no more is accepted
//          ──▶ each worker lets its clients go where their commands end
//              (proxy/session_drain.cpp) ──▶ none left ──▶ on_end
//          ──▶ `timeout` later those who are left are cut off, kLastWord later closed ──▶ on_end
//
// A second signal ends the process at once, with exit code 1 and without a last checkpoint,
// whatever hangs. (Checkpoints are replaced as a whole: an older one stays good.)
//
// Threads: the io_context's, but for what is posted to the workers' loops. Lifetimes: loops and
// clients outlive the io_context's run. Limits: `timeout` and kLastWord; with a timeout of 0 on_end
// comes at once.
class Drain : boost::noncopyable {
 public:
  // For Redis to acknowledge a client's end, and for that reply to be passed on.
  static constexpr std::chrono::seconds kLastWord{1};

  struct Worker {
    io::AsioLoop& loop;
    proxy::Clients& clients;
  };
  struct Calls {
    std::function<void()> on_begin;
    std::function<void()> on_end;  // once
  };

  Drain(boost::asio::io_context& io,
        std::chrono::milliseconds timeout,
        Calls calls,
        log::EventLog& log);

  // Before the first signal.
  void add(Worker worker) { workers_.push_back(worker); }

 private:
  void begin(int signal);
  void drain_workers();
  void on_worker_empty();
  void cut_off();
  void end(std::string_view how);
  std::size_t clients() const;

  boost::asio::io_context& io_;
  std::chrono::milliseconds timeout_;
  Calls calls_;
  log::EventLog& log_;
  boost::asio::signal_set signals_;
  boost::asio::steady_timer deadline_;
  std::vector<Worker> workers_;
  std::size_t workers_left_ = 0;
  bool is_cut_off_ = false;
  bool has_ended_ = false;
};

class Assembly {
 public:
  // The configuration's file, read and checked; or what is wrong with it, a line each.
  using Read = std::function<std::expected<config::Config, std::vector<std::string>>()>;

  struct Start {
    Read read;               // for reloads
    const Guests& guests;    // outlive it
    bool is_strict = false;  // --strict-start
  };

  // The log outlives it.
  Assembly(config::Config config, Start start, log::EventLog& log);
  ~Assembly();
  Assembly(const Assembly&) = delete;
  Assembly& operator=(const Assembly&) = delete;

  // What cannot work, one sentence each; empty: go on.
  const std::vector<std::string>& refusals() const { return refusals_; }

  // Binds the port, starts everything, returns after a signal, when the clients are done or
  // `drain_timeout` has passed.
  void run();

 private:
  struct WorkerParts;

  void open_storage();
  void describe_process();
  void make_filters();
  void make_generation();
  void keep_overlays();
  proxy::Session::Settings session_settings(const config::Config& config,
                                            std::size_t endpoint) const;
  guard::Guard::Parts guarded(const Generation& generation,
                              std::size_t worker,
                              std::size_t endpoint,
                              guard::Learner& learner);
  guard::Guard::Parts shown(const Generation& generation);  // by the admin server
  void make_workers();
  void listen();
  void hand_over(int socket, std::size_t listen);
  void balance();
  std::unique_ptr<Topology> make_topology();
  std::optional<upstream::RedisPlace> redis_of(std::string_view key) const;
  void on_each_worker(const std::function<void(WorkerParts& parts)>& call,
                      const std::function<void()>& done);
  void stop_accepting();
  void tell_proven();
  std::vector<views::Heartbeat> heartbeats();
  void make_admin();
  void verify();

  ReloadThread::Loaded reload(const std::stop_token& stop);
  bool move_to(Generation& next, const std::stop_token& stop);

  log::EventLog& log_;
  const config::Config config_;  // of the start: what needs a restart is as it says
  Read read_;
  SettingsAsRead last_read_;  // of what is in force, but for what needs a restart
  const Guests& guests_;
  unsigned worker_count_;
  filter::Epochs epochs_;
  std::shared_ptr<RecentEvents> events_ = RecentEvents::of(log_);
  views::ProcessState process_state_{.events = events_.get()};
  LoadReport report_{log_, &process_state_.loads};
  Supervisor supervisor_;
  std::vector<std::vector<int>> inherited_sockets_;  // as config_.listen
  LoadStatus load_status_{report_, supervisor_};
  std::vector<std::string> refusals_;
  std::optional<source::StorageDirectory> storage_;
  ReloadThread reloads_;
  RowDesk rows_;
  Generation::Environment environment_;
  std::unique_ptr<Generation> generation_;
  std::unique_ptr<Generation> retiring_;  // the one before, until nobody is in it any more
  std::unique_ptr<Verification> verification_;
  std::unique_ptr<KeptOverlays> kept_overlays_;  // null: there is no storage
  TlsSides tls_;
  Endpoints endpoints_;
  std::unique_ptr<Topology> topology_;  // null: Redis is one server
  const guard::FactProviders shown_of_sentinels_ = guard::fact_providers();
  guard::FactProviders shown_ = guard::fact_providers();
  std::unique_ptr<ApplicationFilters> filters_;  // null: applications fill none
  keyspace::Keyspace no_keys_ = keyspace::Keyspace::build({}).value();
  proxy::ClientCount client_count_;
  std::vector<std::unique_ptr<WorkerParts>> workers_;
  boost::asio::io_context io_;
  boost::asio::steady_timer next_balance_{io_};
  proxy::Balance balance_;
  io::TimePoint balanced_at_{};
  std::unique_ptr<Drain> drain_;
  std::optional<Watchdog> watchdog_;
  std::vector<std::unique_ptr<io::Listener>> listeners_;  // as config_.listen
  std::optional<AdminServer> admin_;                      // reads what all of the above count
};

}  // namespace cuckooguard::app
