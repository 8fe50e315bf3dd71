// The sessions of one worker.
//
// Settings change on the worker's thread, between two batches, followed by on_limits_changed(). New
// limits hold at once for all clients, except that those above max_clients stay. The upstream mode
// never changes.
//
// Threads: its worker's; expect() and count() from any. Limits: max_clients over all workers (one
// shared ClientCount); above it a client gets Redis's own error and is closed. Clients that have
// sent FIN but still await a reply do not count, or those that gave up on a hanging Redis would
// fill the limit. The oldest of them makes room for a newcomer if Redis has been silent for
// Silence::kVainAfter, or if they alone exceed the limit.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "config/config.h"
#include "proxy/client_lists.h"
#include "proxy/session.h"
#include "upstream/upstreams.h"

namespace cuckooguard::proxy {

// Of the process.
struct ClientCount {
  std::atomic<std::size_t> open{0};
  std::atomic<std::size_t> gone{0};       // not among those: sessions whose client has sent FIN
  std::atomic<std::uint64_t> refused{0};  // ever: above max_clients
  std::atomic<std::uint64_t> moved{0};    // ever: from one worker to another
};

class Clients final : Session::Owner {
 public:
  struct Worker {
    io::Loop& loop;
    guard::Guard& guard;
    guard::OwnCommands& own_commands;
    const Session::Settings& settings;
    ClientCount& total;
  };

  explicit Clients(Worker worker);
  Clients(const Clients&) = delete;
  Clients& operator=(const Clients&) = delete;
  ~Clients();

  void admit(std::unique_ptr<io::Transport> client);
  // A client is about to be handed over, and counts from now on. Any thread; admit_expected()
  // follows on the worker's.
  void expect() { ++count_; }
  // Null: it has not come. `rewritten`: of its replies.
  void admit_expected(std::unique_ptr<io::Transport> client,
                      std::unique_ptr<RewrittenReplies> rewritten = nullptr,
                      text::Network from = {});
  // Disconnects every client, new ones too, where its commands end (session_drain.cpp). `on_empty`
  // is called once when none is left; perhaps at once.
  void drain(std::function<void()> on_empty);
  // Ends the remaining ones: at once, or as soon as Redis has acknowledged their end.
  void cut_off();
  void on_limits_changed();
  // Redis has closed a connection in this state.
  void on_upstream_loss(const resp::ConnectionState& told) const;
  // Its is_to_hear(): any thread.
  ProofWaiters& proofs() { return proofs_; }
  // The upstream address leads to another Redis: clients with a connection of their own to the
  // previous one, or awaiting its reply, are closed, as Redis does when it is demoted; the others
  // go on. Connections older than `before` lead to the previous one. Subscribers may stay if both
  // publish the same (`keeps_subscribers`).
  void on_upstream_changed(io::TimePoint before, bool keeps_subscribers);
  // For choosing the least loaded worker; includes expected clients.
  std::size_t count() const { return count_.load(std::memory_order_relaxed); }

  // Has another worker, whose clients outlive this call's consequences, take one of these clients
  // over: the one whose share of the work since the last call is nearest to `best` (balance.h). No
  // call within two looks before: none, the work is counted from now on.
  //
  //   this:  choose ─▶ to:  connect, as told here ─▶ this:  still at rest? ─▶ to:  go on
  //
  // The connection is what makes it safe: Redis may have let the client in by rights that it would
  // not give again, as the password was changed. Then nobody moves. `adopt`: on its thread.
  using Adopt = std::function<std::unique_ptr<io::Transport>(int socket)>;
  void give_one(Clients& to, unsigned best, Adopt adopt);

 private:
  struct Newcomer;
  struct Admitted {
    std::unique_ptr<Session> session;
    std::optional<std::list<Session*>::iterator> gone;  // its place among those
    std::uint64_t number = 0;                           // in the order of admission
  };

  void on_session_end(Session& session) override;
  void on_client_gone(Session& session) override;
  std::vector<Session*> all() const;
  void keep_promises();
  void make_room();
  void tell_if_empty();
  Session& add(std::unique_ptr<io::Transport> client, std::unique_ptr<RewrittenReplies> rewritten);
  void remove(std::unordered_map<Session*, Admitted>::iterator session);
  Session* choose(unsigned best);
  void expect_moved(std::unique_ptr<Newcomer> newcomer);
  void ask_for_newcomer();
  std::shared_ptr<Session::Moved> let_go(const Newcomer& newcomer);
  void admit_moved(const std::shared_ptr<Session::Moved>& moved);

  Worker worker_;
  resp::Arguments arguments_;
  resp::Arguments arguments_behind_;
  Session::RunScratch run_;
  IdleClients idle_;
  HeldClients held_;
  ProofWaiters proofs_;
  std::shared_ptr<guard::KnownReplies> known_;
  ReplyClock reply_clock_;
  upstream::Upstreams upstreams_;
  const Session::Worker of_sessions_;
  std::unordered_map<Session*, Admitted> sessions_;
  std::list<Session*> gone_;  // who finished first comes first
  std::atomic<std::size_t> count_{0};
  std::unique_ptr<Newcomer> newcomer_;  // at most one at a time
  std::uint64_t admitted_ = 0;
  io::TimePoint measured_at_{};  // when the sessions were asked for their work
  bool is_draining_ = false;
  std::function<void()> on_empty_;
};

}  // namespace cuckooguard::proxy
