// Reloads, one at a time, on a thread of their own: opening databases takes time that neither a
// worker nor the acceptor has.
//
//   SIGHUP, GUARD.RELOAD, POST /-/reload ── ask(), outcome() ──▶ [wanted] ──▶ load() ──▶ outcome
//
// Who asks while one runs is told of the next one, which begins when that has ended: what was
// written to the file in between is surely read. All who ask meanwhile share it.
//
// Threads: any; load() on its own. Lifetimes: what load() refers to, and the log, outlive it.
// Errors: an exception of load() is an outcome.
#pragma once

#include <chrono>
#include <condition_variable>
#include <expected>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "guard/reloads.h"
#include "io/clock.h"
#include "log/event_log.h"

namespace cuckooguard::app {

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

  void start();
  // load() is asked to end, and waited for. May be called twice.
  void stop();

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

}  // namespace cuckooguard::app
