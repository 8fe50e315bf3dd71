// A worker's connections to Redis in `mode: shared`: what is shared, for each state that clients
// are in, and a few connections that nobody has at the moment, kept warm for whoever needs one of
// its own.
//
// Without a login nobody is given a connection that another client has had, or has, unless Redis
// would let a new one in (login_probe.h): when it would not, those that there are go on for the
// clients they have, and take no others.
//
// Threads: its worker's. Lifetimes: outlives its users.
// Errors: as SharedUpstream and GreetedConnection; of those kept here a lost one is forgotten.
// A kept connection may have died without a word since it was last used: it is asked by a PING
// first (GreetedConnection), unless that was within kProvenFor. Limits: one shared upstream per
// state that a client is in (gone with the last client), kKeptMax kept for kKeptFor at most.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <vector>

#include "config/config.h"
#include "io/loop.h"
#include "resp/connection_state.h"
#include "upstream/greeted_connection.h"
#include "upstream/login_probe.h"
#include "upstream/shared_upstream.h"

namespace cuckooguard::upstream {

class Upstreams {
 public:
  static constexpr std::size_t kKeptMax = 16;
  static constexpr std::chrono::seconds kKeptFor{10};
  static constexpr std::chrono::milliseconds kProvenFor{20};
  // A connection to a Redis that refuses writes, or is loading, is left for another one, which may
  // reach its successor; not more often than this.
  static constexpr std::chrono::seconds kRetiredAfter{1};

  // `version` moves when what users may do may have changed.
  Upstreams(io::Loop& loop,
            const config::Upstream& settings,
            SharedUpstream::OnLoss on_loss,
            std::function<std::uint64_t()> version);
  Upstreams(const Upstreams&) = delete;
  Upstreams& operator=(const Upstreams&) = delete;
  ~Upstreams() = default;

  LoginProbe& login_probe() { return probe_; }

  // The labels of `told` are of no consequence here. Without a login: only if the probe says that
  // Redis is open.
  SharedUpstream& join(resp::ConnectionState told, SharedUpstream::Member& member);
  void leave(SharedUpstream& shared, SharedUpstream::Member& member);
  // For new work there will be other connections; whoever needs one alone gets none of those kept.
  // `opened_at`: of the one that was heard of.
  void retire(const SharedUpstream& shared, io::TimePoint opened_at);
  // All that were opened `before` lead to another Redis than those to come: nobody new gets them.
  void forget_all(io::TimePoint before);
  bool may_retire(io::TimePoint opened_at) const { return loop_.now() - opened_at > kRetiredAfter; }
  bool is_retired(const SharedUpstream& shared) const;
  // Nobody has anything of it, and nothing is kept.
  bool is_unused();

  // One for its owner alone: perhaps one that others have had (without a login: as join()), or one
  // that nobody has had.
  std::unique_ptr<GreetedConnection> lease(const resp::ConnectionState& told,
                                           GreetedConnection::Owner& owner);
  std::unique_ptr<GreetedConnection> open(const resp::ConnectionState& told,
                                          GreetedConnection::Owner& owner);
  // Nothing is owed on it, and `told` is all that it remembers.
  void give_back(std::unique_ptr<GreetedConnection> connection, const resp::ConnectionState& told);

 private:
  struct Kept final : GreetedConnection::Owner {
    explicit Kept(Upstreams& all) : upstreams(all) {}
    void on_upstream_up() override {}
    void on_upstream_bytes(std::string_view) override { upstreams.forget(*this); }
    void on_upstream_progress() override {}
    void on_upstream_lost() override { upstreams.forget(*this); }

    Upstreams& upstreams;
    std::unique_ptr<GreetedConnection> connection;
    io::TimePoint since{};
    std::unique_ptr<io::Timer> until;
  };

  void forget(const Kept& kept);
  void dispose_unused();
  void on_login_wanted();

  io::Loop& loop_;
  const config::Upstream& settings_;
  SharedUpstream::OnLoss on_loss_;
  std::vector<std::unique_ptr<SharedUpstream>> shared_;
  std::vector<std::unique_ptr<SharedUpstream>> retired_;
  std::list<Kept> kept_;  // the longest first
  LoginProbe probe_;
};

}  // namespace cuckooguard::upstream
