// The control connection as it is configured at the moment: what the guard knows of Redis comes by
// it, and the admin pages hear whether Redis is there. A reload that changes what is asked (the
// namespaces' keys), whom is believed (upstream.acl) or how it logs in puts another in its place;
// what was known of Redis holds meanwhile, but for users who may not do everything: of those it is
// known by namespace, so they pass until the new one has asked (Guard::access_of).
//
// The server behind the address: when the control connection finds another one there (another run
// id), or the same one in another role, all connections that may lead to the one before are ended
// (on_left), and nothing is answered until they have been, and the server that is there now has
// been asked. A server that was started again where it was has none left; of those that were opened
// since nothing is ended.
//
// Threads: open(), forget() and close() from one at a time, the main thread's among them, so they
// do not wait for Redis; servers() from any; what it tells redis::Facts from the connection's own.
// Lifetimes: facts, tls, the log and what the calls use outlive it; no call comes after close().
// Errors: as upstream::Control. Limits: the connection before ends by itself, on a thread that may
// wait for a question that it has just asked (upstream::Control::kCallTimeout), or for its
// connecting.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "io/clock.h"
#include "io/tls_credentials.h"
#include "log/event_log.h"
#include "redis/facts.h"
#include "upstream/control.h"
#include "views/process_state.h"

namespace cuckooguard::app {

class ControlConnection {
 public:
  struct Calls {  // on the control connection's thread
    std::function<void(views::RedisSeen)> on_seen;
    // What was connected before this time leads to another server; `done` when it has ended.
    std::function<void(io::TimePoint before, std::function<void()> done)> on_left;
  };

  struct Kind {
    bool is_whole_cluster = false;  // the node stands for all
    bool is_in_cluster = false;     // whose nodes change their roles, and are led to all the same
  };

  ControlConnection(
      redis::Facts& facts, Calls calls, const io::TlsSlot& tls, log::EventLog& log, Kind kind);
  ControlConnection(const ControlConnection&) = delete;
  ControlConnection& operator=(const ControlConnection&) = delete;
  ~ControlConnection() { close(); }

  enum class Purpose : std::uint8_t { facts, log_alone };  // whether Redis answers

  // To this Redis; nullopt: to none. `numbering`: guard::Guard::Parts.
  void open(std::optional<config::Upstream> redis,
            const std::vector<config::Namespace>& namespaces,
            std::uint64_t numbering,
            Purpose purpose = Purpose::facts);
  // Whoever asks Redis from now on asks another one: what is known is of the one before, and
  // nothing that is still found out of it counts. open() follows. Not while that runs.
  void forget();
  // For good: waits until all that were opened have ended.
  void close();
  // How many servers there have been: what was asked of one before is another's.
  std::uint64_t servers() const { return servers_; }

 private:
  void forget_what_is_known();
  void believe_no_more();
  void end_aside(std::unique_ptr<upstream::Control> control);
  std::unique_ptr<upstream::Control> make(const config::Upstream& redis,
                                          const std::vector<config::Namespace>& namespaces);
  void on_reachable(bool reachable, const std::string& address, const std::string& why);
  void log_reachable(bool reachable, const std::string& address, const std::string& why);
  void on_allowed(const redis::ControlReport& report);
  void on_server(const upstream::Server& server);
  void on_lost(bool is_up, const std::string& why);
  // What leads to another server than this, was opened before it; nothing: all is this one's.
  std::optional<io::TimePoint> left_before(const upstream::Server& server) const;
  void leave(io::TimePoint before, const upstream::Server& server);

  redis::Facts& facts_;
  Calls calls_;
  const io::TlsSlot& tls_;  // what its connects take
  log::EventLog& log_;
  Kind kind_;
  std::optional<config::Upstream> settings_;  // of `control_`
  std::uint64_t numbering_ = 0;
  Purpose purpose_ = Purpose::facts;
  bool is_forgotten_ = false;  // `control_` is not believed
  std::mutex telling_;         // while what a connection tells is taken, and for
  std::uint64_t opened_ = 0;   // how many: one of before is not believed
  // Of the last reading, on the control connection's thread; forgotten by forget_what_is_known().
  struct Met {
    upstream::Server server;
    std::optional<io::TimePoint> closed_at;  // it has closed the connection
  };
  std::mutex meeting_;  // for
  std::optional<Met> met_;
  std::atomic<std::uint64_t> servers_{0};
  std::atomic<std::size_t> leaving_{0};  // on_left() calls that are not done
  std::mutex mutex_;                     // for the pointer
  std::unique_ptr<upstream::Control> control_;
  std::vector<std::future<void>> ending_;  // those of before
};

}  // namespace cuckooguard::app
