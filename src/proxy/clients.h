// The sessions of one worker.
//
// The settings may change, on the worker's thread and between two batches' work; on_limits_changed() says so. Limits hold
// at once for all clients, but those above max_clients stay. Where Redis is, and in which mode it is spoken to, never
// changes.
//
// Threads: its worker's; count() from any. Limits: max_clients over all workers (one shared
// ClientCount); above it a client gets Redis's own text and is closed.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <unordered_map>

#include "config/config.h"
#include "proxy/held_clients.h"
#include "proxy/idle_clients.h"
#include "proxy/session.h"
#include "upstream/upstreams.h"

namespace cuckooguard::proxy {

// Of the process.
struct ClientCount {
  std::atomic<std::size_t> open{0};
};

class Clients final : Session::Ends {
 public:
  struct Worker {
    io::Loop& loop;
    guard::Guard& guard;
    const Session::Settings& settings;
    ClientCount& total;
  };

  explicit Clients(Worker worker)
      : worker_(worker),
        own_commands_(worker.guard),
        idle_(worker.loop, worker.settings.limits),
        held_(worker.loop),
        reply_clock_(worker.loop, worker.guard),
        upstreams_(worker.loop,
                   worker.settings.upstream,
                   [this](const resp::ConnectionState& told) { on_upstream_loss(told); }),
        of_sessions_{.loop = worker.loop,
                     .guard = worker.guard,
                     .own_commands = own_commands_,
                     .arguments = arguments_,
                     .settings = worker.settings,
                     .idle = idle_,
                     .held = held_,
                     .reply_clock = reply_clock_,
                     .route = {.loop = worker.loop,
                               .upstreams = upstreams_,
                               .settings = worker.settings.upstream,
                               .in_flight_max = worker.settings.limits.inflight_per_client},
                     .ends = *this} {}
  Clients(const Clients&) = delete;
  Clients& operator=(const Clients&) = delete;
  ~Clients();

  void admit(std::unique_ptr<io::Transport> client);
  // Lets every client go where its commands end (session_drain.cpp), those who still come, too. `on_empty` is called once,
  // when there is nobody left; perhaps at once.
  void drain(std::function<void()> on_empty);
  // Ends those who are left: at once, or as soon as Redis has answered that it has heard of it.
  void cut_off();
  void on_limits_changed();
  // For the choice of the least loaded worker.
  std::size_t count() const { return count_.load(std::memory_order_relaxed); }

 private:
  void on_session_end(Session& session) override;
  void tell_if_empty();
  void on_upstream_loss(const resp::ConnectionState& told) const;

  Worker worker_;
  resp::Arguments arguments_;
  guard::OwnCommands own_commands_;
  IdleClients idle_;
  HeldClients held_;
  ReplyClock reply_clock_;
  upstream::Upstreams upstreams_;
  const Session::Worker of_sessions_;
  std::unordered_map<Session*, std::unique_ptr<Session>> sessions_;
  std::atomic<std::size_t> count_{0};
  bool is_draining_ = false;
  std::function<void()> on_empty_;
};

}  // namespace cuckooguard::proxy
