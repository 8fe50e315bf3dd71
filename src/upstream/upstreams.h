// A worker's connections to Redis in `mode: shared`: a SharedUpstream for each state that clients
// are in, and a few unused connections, kept warm for the next client that needs one of its own.
//
// A client without a login gets a connection that other clients have, or have had, only if Redis
// would let a new client in (login_probe.h). If it would not, the connections that exist go on for
// the clients they have, and take no others.
//
// Threads: its worker's. Lifetimes: outlives its users.
// Errors: as SharedUpstream and GreetedConnection; a kept connection that is lost is forgotten. It
//   may have died silently since it was last used: GreetedConnection sends it a PING first, unless
//   it was used within kProvenFor.
// Limits: one shared upstream per state that a client is in (gone with the last client); kKeptMax
//   kept connections, for kKeptFor at most.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/core/noncopyable.hpp>

#include "config/config.h"
#include "io/loop.h"
#include "resp/connection_state.h"
#include "resp/reply_framer.h"
#include "upstream/greeted_connection.h"
#include "upstream/login_probe.h"

namespace cuckooguard::upstream {

// What those clients of one worker share that are in the same state (version, user, db): a
// connection to Redis for reads and one for writes, and spares of each kind for when these are held
// up.
//
//   reads   ──▶ GET, MGET ...      Redis postpones only writes during CLIENT PAUSE WRITE, and in a
//                                  failover: reads do not wait behind them
//   writes  ──▶ SET, PUBLISH ...
//   spares      while a large reply is arriving on the first one, or that stands still: opened on
//               request, one at a time, each after twice as long as the one before, and used once
//               Redis has answered a PING there: a Redis that hangs sees at most two of each kind
//
// Nothing new is sent on a connection that stands still. A younger connection of its kind shows
// whether it is dead (a relay that acknowledges for a server that is gone) or waiting (CLIENT
// PAUSE): when that one has answered a client, and the old one has been silent for
// `upstream.silence`, the old one is given up.
//
// A client's commands keep their order: while it is owed replies it stays on the connection they
// come from, and a write never follows reads that are owed; everything else waits until nothing is
// owed (may_send). A client that has read a large value is remembered for a while
// (reads_large_values), and gets a connection of its own.
//
// A user's connection for reads exists as long as the user has clients, and is tried once more
// after a loss: Redis closes the clients of a deleted user, and so the idle ones here are closed,
// too.
//
// Threads: its worker's. Lifetimes: a member leaves before it ends; may do so within any call.
// Errors: when a connection is lost, members with replies to come on it get on_shared_lost(); the
//   others stay. When Redis refuses the state that a connection is to have, waiting commands get
//   that error as their reply; if it is about the login (-WRONGPASS), all members get
//   on_shared_lost() instead, and all connections are closed.
// Limits: kPipesMax connections for reads, and for writes; the owner watches in_flight() of each
//   member.

// One pipelined connection to Redis that many clients share: whole commands with one reply each go
// out, and each reply goes to the client that asked for it, in order.
//
//   clients:  A A   B   A        one write to Redis per batch
//   runs:    |A 2|B 1|A 1|       replies come back in that order: the run at the head says whose
//                                they are
//
// The invariant: no byte that one client caused reaches another client, except what Redis itself
// would send it.
//   - a reply goes to the slot at the head of the runs, or nowhere if that client has gone
//   - a push is always framed, also when nothing is in flight, and thrown away: a client that asks
//     for pushes has a connection of its own (redis/lane.h), so that a push here was directed by
//     somebody else (CLIENT TRACKING ... REDIRECT)
//   - a reply that nobody has asked for, or bytes that are not RESP, lose the connection: what
//     follows belongs to nobody
//
// The first command opens it, and opens it again after a loss: as often as clients ask, one attempt
// at a time, and resolves the name each time. Nothing is sent twice.
//
// Threads: its worker's. Lifetimes: the owner outlives it.
// Errors: on_lost(), within a batch. Limits: none of its own on what is queued: the owner looks at
// has_room(); a run per change of client.
class SharedConnection final : boost::noncopyable, GreetedConnection::Owner {
 public:
  static constexpr std::size_t kUnsentMax = std::size_t{1024} * 1024;
  // A reply above this holds up those behind it.
  static constexpr std::size_t kLargeReply = std::size_t{256} * 1024;
  // Replies are owed, and no byte has come for this long: Redis, or the network, holds up the next
  // commands.
  static constexpr std::chrono::milliseconds kStandsStill{10};
  // So does a connection that is not up after this.
  static constexpr std::chrono::milliseconds kIsUpWithin{250};

  class Owner {
   public:
    // Of replies to this slot: all that there is, in the worker's read buffer. `replies` > 0: just
    // so many whole ones, none of them an error. 0: a piece, or an error.
    virtual void on_replies(std::uint32_t slot, std::string_view bytes, std::uint32_t replies) = 0;
    // Before the end of them is handed on. `bytes`: of the longest reply.
    virtual void on_reply_end(std::uint32_t slot, std::uint32_t replies, std::size_t bytes) = 0;
    // It can take commands, bytes have moved, or there is room again: waiting members may ask
    // again.
    virtual void on_progress(SharedConnection& connection) = 0;
    // `was_up`: it had been let in. `refusal`: Redis's error to the greeting, or to the connection
    // as such; nothing that was sent has been run then.
    virtual void on_lost(SharedConnection& connection, bool was_up, const std::string& refusal) = 0;
    virtual bool wants_replies(std::uint32_t slot) const = 0;

   protected:
    ~Owner() = default;
  };

  // Consecutive replies for one slot, in the order in which they were asked for.
  struct Run {
    std::uint32_t slot = 0;
    std::uint32_t replies = 0;
  };

  SharedConnection(io::Loop& loop,
                   const config::Upstream& settings,
                   const resp::ConnectionState& told,
                   LoginProbe& probe,
                   Owner& owner)
      : loop_(loop), settings_(settings), told_(told), probe_(probe), owner_(owner) {}

  // Does nothing if it is open. `pings`: it takes commands once Redis has answered one PING.
  void open(bool pings = false);
  // Disposes of it; runs are kept if the owner still needs to know them.
  void drop();
  // As if Redis had closed it.
  void give_up() { lose(); }
  // For a lost connection: none of these replies will come.
  std::vector<Run> take_runs();

  void send(std::uint32_t slot, std::string_view bytes, std::uint32_t commands);
  void update_reading();

  bool is_open() const { return connection_ != nullptr; }
  // Redis has let it in, told it all, and answered.
  bool is_up() const { return is_up_; }
  bool owes() const { return first_run_ < runs_.size(); }
  bool has_room() const { return !connection_ || connection_->unsent() <= kUnsentMax; }
  // A command sent now waits longer than Redis needs: for a large reply, or for an unknown reason.
  bool is_held_up() const;
  // Everything that was sent has reached Redis, or a relay that acknowledges for it, and no byte
  // has come for this long.
  bool stands_still_for(std::chrono::milliseconds time) const;
  // A client, since it was opened: not only the greeting.
  bool has_answered() const { return has_answered_; }
  io::TimePoint opened_at() const { return opened_at_; }
  io::TimePoint used_at() const { return moved_at_; }

 private:
  void on_upstream_up() override;
  void on_upstream_bytes(std::string_view bytes) override;
  void on_upstream_progress() override;
  void on_upstream_lost() override { lose(); }

  // At the front of what has come: replies of one run that are not handed on yet.
  struct Front {
    std::string_view bytes;
    std::size_t size = 0;
    std::uint32_t replies = 0;  // whole ones
  };
  void take(std::string_view bytes);
  void hand_on(Front& front, std::uint32_t slot);
  bool take_plain(Front& front);
  bool take_piece(Front& front);
  bool replies_have_ended(std::uint32_t replies, std::size_t bytes);
  void lose();

  io::Loop& loop_;
  const config::Upstream& settings_;
  const resp::ConnectionState& told_;
  LoginProbe& probe_;
  Owner& owner_;
  std::unique_ptr<GreetedConnection> connection_;  // null: lost, or not needed yet
  resp::ReplyFramer framer_;
  std::vector<Run> runs_;
  std::size_t first_run_ = 0;
  std::size_t reply_bytes_ = 0;  // of the reply that is coming
  io::TimePoint opened_at_{};
  io::TimePoint moved_at_{};  // when a byte came last, or the first command behind a pause went
  bool is_up_ = false;
  bool has_answered_ = false;
};

enum class Access : std::uint8_t { read, write };

class SharedUpstream final : public io::Disposable, SharedConnection::Owner {
 public:
  class Member {
   public:
    // Of its replies: all that there is, in the worker's read buffer. `replies` > 0: just so many
    // whole ones, none of them an error. 0: a piece, or an error.
    virtual void on_shared_bytes(std::string_view bytes, std::uint32_t replies) = 0;
    // Its replies will not come, or it is not welcome any more. It has left.
    virtual void on_shared_lost() = 0;
    // None of the connections is up any more; nothing of this member's has been lost.
    virtual void on_shared_down() = 0;
    // It may ask again: the reason for its waiting may be over.
    virtual void on_shared_progress() = 0;

   protected:
    ~Member() = default;

   private:
    friend class SharedUpstream;
    std::uint32_t slot_ = 0;
  };

  // A client that has been sent a large reply stays away from the others for this long.
  static constexpr std::chrono::seconds kLargeReplyCounts{10};
  static constexpr std::size_t kPipesMax = 16;
  // A spare that nobody uses is closed after this.
  static constexpr std::chrono::seconds kSpareFor{10};
  // How often spares are looked after, while there are any.
  static constexpr std::chrono::seconds kTendEvery{2};
  // When Redis has refused a state, it is not asked again before.
  static constexpr std::chrono::seconds kRefusedFor{1};

  // Redis has closed a connection in this state: what was known of its user may be so no longer.
  using OnLoss = std::function<void(const resp::ConnectionState& told)>;

  SharedUpstream(io::Loop& loop,
                 const config::Upstream& settings,
                 resp::ConnectionState told,
                 LoginProbe& probe,
                 OnLoss on_loss);

  void join(Member& member);
  void leave(Member& member);  // replies to come are dropped

  // Whether a command may be sent now. Else the member hears on_shared_progress() when it should
  // ask again.
  [[nodiscard]] bool may_send(Member& member, Access access);
  // Whole commands with one reply each, after may_send().
  void send(Member& member, std::string_view bytes, std::uint32_t commands);
  std::uint32_t in_flight(const Member& member) const { return slots_[member.slot_].in_flight; }
  // Whether the member wants its replies now.
  void set_reading(Member& member, bool reading);
  bool reads_large_values(const Member& member) const;

  const resp::ConnectionState& told() const { return told_; }
  // Whether Redis lets connections be in this state; if that is unknown Redis is asked, and members
  // get on_shared_progress().
  bool is_proven();
  // It has no members, and no replies are to come.
  bool is_unused() const;
  // Closes its connections then: at the latest before it is disposed of.
  void close_if_unused();
  // Of the connection from which the member's replies came.
  io::TimePoint opened_at(const Member& member) const;
  // A connection that was opened before this.
  bool has_older_than(io::TimePoint time) const;

  // For clients that have not logged in: whether one that is new to Redis may join.
  bool takes_newcomers() const { return takes_newcomers_; }
  void take_no_newcomers() { takes_newcomers_ = false; }

 private:
  // Of one access: the usual one, and spares, some of which are closed.
  using Pipes = std::vector<std::unique_ptr<SharedConnection>>;

  struct Slot {
    Member* member = nullptr;  // null: it has left
    std::uint32_t in_flight = 0;
    SharedConnection* connection = nullptr;  // that it uses; null: none yet
    Access access = Access::read;            // for which that is
    bool waits = false;
    bool wants_replies = true;
    io::TimePoint large_reply{};  // when it got the last one; the epoch: never
  };

  // SharedConnection::Owner
  void on_replies(std::uint32_t slot, std::string_view bytes, std::uint32_t replies) override;
  void on_reply_end(std::uint32_t slot, std::uint32_t replies, std::size_t bytes) override;
  void on_progress(SharedConnection& connection) override;
  void on_lost(SharedConnection& connection, bool was_up, const std::string& refusal) override;
  bool wants_replies(std::uint32_t slot) const override { return slots_[slot].wants_replies; }

  SharedConnection* connection_for(Access& access);
  SharedConnection* unless_held_up(Access access);
  SharedConnection* spare_for(Pipes& pipes);
  Pipes& pipes_of(Access access) { return pipes_[static_cast<std::size_t>(access)]; }
  SharedConnection& add_pipe(Pipes& pipes);
  template <class Which>
  bool any_pipe(const Which& which) const {
    return std::ranges::any_of(pipes_, [&](const Pipes& pipes) {
      return std::ranges::any_of(pipes, [&](const auto& pipe) { return which(*pipe); });
    });
  }
  bool any_is_up(Access access) const;
  bool any_is_up() const {
    return any_pipe([](const SharedConnection& pipe) { return pipe.is_up(); });
  }
  void ask_again_after(std::chrono::milliseconds time);
  void tend_later();
  void tend(Pipes& pipes);
  void tell_who_waits();
  template <class Whom>
  void tell(const Whom& whom, void (Member::*what)());
  void refuse(const std::vector<SharedConnection::Run>& runs, const std::string& error);
  void lose(std::vector<SharedConnection::Run> runs, bool all);

  io::Loop& loop_;
  const config::Upstream& settings_;
  LoginProbe& probe_;
  resp::ConnectionState told_;
  OnLoss on_loss_;
  std::array<Pipes, 2> pipes_;  // by Access
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_slots_;
  std::size_t members_ = 0;
  bool anybody_waits_ = false;
  bool takes_newcomers_ = true;
  bool is_proven_;
  io::TimePoint refused_at_{};
  io::TimePoint no_spare_before_{};
  std::unique_ptr<io::Timer> tending_;    // while a spare is open
  std::unique_ptr<io::Timer> ask_again_;  // who waits may
  io::TimePoint ask_again_at_{};
};

class Upstreams : boost::noncopyable {
 public:
  static constexpr std::size_t kKeptMax = 16;
  static constexpr std::chrono::seconds kKeptFor{10};
  static constexpr std::chrono::milliseconds kProvenFor{20};
  // A connection to a Redis that refuses writes, or is loading, is replaced by another one, which
  // may reach the new master; not more often than this.
  static constexpr std::chrono::seconds kRetiredAfter{1};

  // `version` changes when users' rights may have changed.
  Upstreams(io::Loop& loop,
            const config::Upstream& settings,
            SharedUpstream::OnLoss on_loss,
            std::function<std::uint64_t()> version);

  LoginProbe& login_probe() { return probe_; }

  // The labels of `told` do not matter here. Without a login: only if the probe says that Redis is
  // open.
  SharedUpstream& join(resp::ConnectionState told, SharedUpstream::Member& member);
  void leave(SharedUpstream& shared, SharedUpstream::Member& member);
  // New work gets other connections; a client that needs one of its own gets none of those kept.
  // `opened_at`: when the connection with the bad news was opened.
  void retire(const SharedUpstream& shared, io::TimePoint opened_at);
  // All connections opened `before` lead to another Redis than future ones: no new client gets
  // them.
  void forget_all(io::TimePoint before);
  bool may_retire(io::TimePoint opened_at) const { return loop_.now() - opened_at > kRetiredAfter; }
  bool is_retired(const SharedUpstream& shared) const;
  // It has no users, and keeps nothing.
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
