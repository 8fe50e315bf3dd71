// The service manager that has started this process, in systemd's protocols: sockets handed over
// (sd_listen_fds), the process's status (sd_notify), and a watchdog. Any manager that sets
// LISTEN_FDS, NOTIFY_SOCKET and WATCHDOG_USEC works; without them nothing happens.
//
// Threads: any, but Watchdog: the io_context's. sd_notify() blocks while the manager's socket is
// full, so it has a thread of its own. Lifetimes: Watchdog ends before the loops that its
// heartbeats are posted to, and before its Supervisor. Errors: sockets_for(). Notifications that
// fail are dropped. Limits: kWaitingMax notifications wait for a manager that does not read; at the
// end it gets kPatience. Source: sd_listen_fds(3), sd_notify(3), sd_watchdog_enabled(3).
#pragma once

#include <chrono>
#include <expected>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/core/noncopyable.hpp>

#include "config/config.h"
#include "io/blocking_thread.h"
#include "io/clock.h"
#include "log/event_log.h"
#include "source/source.h"
#include "views/process_state.h"

namespace cuckooguard::app {

class Supervisor {
 public:
  static constexpr std::string_view kServing = "serving";
  static constexpr std::size_t kWaitingMax = 256;
  static constexpr std::chrono::seconds kPatience{1};

  // The sockets that were handed over, for each of `listen`; a host name has one per address. An
  // error if one listens on none of them.
  std::expected<std::vector<std::vector<int>>, std::string> sockets_for(
      std::span<const config::Listen> listen) const;

  void ready(std::string_view status);
  void reloading();  // until the next ready()
  void stopping(std::string_view status);
  void tell(std::string_view status);
  void tell_of_life();  // Watchdog
  // Waits this long for all notifications to be sent; false if some are left.
  bool finish(std::chrono::milliseconds patience) { return thread_.finish(patience); }

 private:
  void notify(std::string state);

  io::BlockingThread thread_{{.waiting_max = kWaitingMax, .patience = kPatience, .name = "notify"}};
};

// Passes on what sources report, and notifies the service manager of loads: "loading users 41 %".
class LoadStatus final : public source::Observer {
 public:
  LoadStatus(source::Observer& next, Supervisor& manager) : next_(next), manager_(manager) {}

  void on_progress(const source::Progress& progress) override;
  void on_state(std::string_view ns, filter::State state, std::string_view why) override {
    next_.on_state(ns, state, why);
  }
  void on_trouble(std::string_view source, std::string_view what) override {
    next_.on_trouble(source, what);
  }
  void on_restored(std::string_view ns) override { next_.on_restored(ns); }
  void on_resumed(std::string_view ns) override { next_.on_resumed(ns); }
  // Its load will not be reported as complete.
  void forget(std::string_view ns);

 private:
  void tell();  // the lock is held

  source::Observer& next_;
  Supervisor& manager_;
  std::mutex mutex_;
  std::map<std::string, int, std::less<>> percent_;  // of those that load
  std::string told_;
};

// Notifies the service manager twice per watchdog interval while every loop turns. If a loop
// stalls, the manager kills the process, at most views::Heartbeat::kStalledAfter plus that interval
// later.
class Watchdog : boost::noncopyable {
 public:
  using Now = std::function<io::TimePoint()>;

  Watchdog(boost::asio::io_context& io,
           Supervisor& manager,
           std::vector<views::Heartbeat> loops,
           log::EventLog& log,
           Now now = io::now_since_boot);

 private:
  void beat();

  boost::asio::steady_timer timer_;
  Supervisor& manager_;
  std::chrono::microseconds every_{0};  // 0: no watchdog
  std::vector<views::Heartbeat> loops_;
  log::EventLog& log_;
  Now now_;
};

}  // namespace cuckooguard::app
