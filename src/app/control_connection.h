// The control connection as it is configured at the moment: what the guard knows of Redis comes by
// it, and the admin pages hear whether Redis is there. A reload that changes what is asked (the
// namespaces' keys), whom is believed (upstream.acl) or how it logs in puts another in its place;
// what was known of Redis holds meanwhile, but for users who may not do everything: of those it is
// known by namespace, so they pass until the new one has asked (Guard::access_of).
//
// Threads: open() from one at a time; what it tells redis::Facts from the connection's own.
// Lifetimes: facts, tls, the log and what on_seen uses outlive it. Errors: as upstream::Control.
// Limits: open() waits for a question that the old connection has just asked,
// upstream::Control::kCallTimeout at most, or for its connecting.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "io/tls_credentials.h"
#include "log/event_log.h"
#include "redis/facts.h"
#include "upstream/control.h"
#include "views/process_state.h"

namespace cuckooguard::app {

class ControlConnection {
 public:
  using OnSeen = std::function<void(views::RedisSeen)>;  // on the control connection's thread

  ControlConnection(redis::Facts& facts,
                    OnSeen on_seen,
                    const io::TlsSlot& tls,
                    log::EventLog& log,
                    bool of_whole_cluster);
  ControlConnection(const ControlConnection&) = delete;
  ControlConnection& operator=(const ControlConnection&) = delete;
  ~ControlConnection() = default;

  // To this Redis; nullopt: to none. `numbering`: guard::Guard::Parts.
  void open(std::optional<config::Upstream> redis,
            const std::vector<config::Namespace>& namespaces,
            std::uint64_t numbering);
  // Whoever asks Redis from now on asks another one: what is known is of the one before, and
  // nothing that is still found out of it counts. open() follows. Not while that runs.
  void forget();

 private:
  void forget_what_is_known();
  std::unique_ptr<upstream::Control> make(const config::Upstream& redis,
                                          const std::vector<config::Namespace>& namespaces);
  void on_reachable(bool reachable, const std::string& address, const std::string& why);
  void on_allowed(const redis::ControlReport& report);

  redis::Facts& facts_;
  OnSeen on_seen_;
  const io::TlsSlot& tls_;  // what its connects take
  log::EventLog& log_;
  bool of_whole_cluster_;                     // the node stands for all
  std::optional<config::Upstream> settings_;  // of `control_`
  std::uint64_t numbering_ = 0;
  bool is_forgotten_ = false;             // `control_` is not believed
  std::atomic<std::uint64_t> opened_{0};  // how many: one of before is not believed
  std::mutex mutex_;                      // for the pointer
  std::unique_ptr<upstream::Control> control_;
};

}  // namespace cuckooguard::app
