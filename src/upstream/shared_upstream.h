// What the clients of one worker share that are in one state (version, user, db): a connection to
// Redis for reads and one for writes, and spares for each where those that there are are held up.
//
//   reads   ──▶ GET, MGET ...      Redis postpones writes alone during CLIENT PAUSE WRITE, a
//                                  failover: reads do not wait behind them
//   writes  ──▶ SET, PUBLISH ...
//   spares      while a large reply is on its way on the first one, or it stands still: opened on
//               request, one at a time, each after twice as long as the one before, used once Redis
//               has answered a PING there: a Redis that hangs sees no more than two of each kind
//
// Nothing new is sent behind what stands still. Whether what stands still is dead (a relay that
// acknowledges for a server that is gone) or waits (CLIENT PAUSE) is told by a younger connection
// of its kind: when that has answered a client, and the old one has been silent for
// `upstream.silence`, the old one is given up.
//
// A client keeps its order: while it is owed replies it stays where they come from, and a write
// never follows reads that are owed; all else waits until nothing is (may_send). Who has read a
// large value is known for a while (reads_large_values), and gets a connection of its own.
//
// A user's connection for reads is there as long as the user has clients, and is tried once more
// when it was lost: Redis closes the clients of a user that is deleted, and so those here are
// closed, too, who ask for nothing.
//
// Threads: its worker's. Lifetimes: a member leaves before it ends; may do so within any call.
// Errors: when a connection is lost, members with replies to come on it hear on_shared_lost(), the
// others stay. When Redis refuses what a connection is to be told, its error is the reply to what
// waits for it; if that is about the login (-WRONGPASS), all members hear on_shared_lost() instead,
// and all connections go.
// Limits: kPipesMax connections for reads, and for writes; in_flight() per member is its owner's to
// look at.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "io/loop.h"
#include "resp/connection_state.h"
#include "upstream/login_probe.h"
#include "upstream/shared_connection.h"

namespace cuckooguard::upstream {

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
    // What it had to wait for may be over: it may ask again.
    virtual void on_shared_progress() = 0;

   protected:
    ~Member() = default;

   private:
    friend class SharedUpstream;
    std::uint32_t slot_ = 0;
  };

  // Who has been sent a large reply keeps away from the others for so long.
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
  SharedUpstream(const SharedUpstream&) = delete;
  SharedUpstream& operator=(const SharedUpstream&) = delete;
  ~SharedUpstream() override = default;

  void join(Member& member);
  void leave(Member& member);  // replies to come are dropped

  // Whether a command may be sent now. Else the member hears on_shared_progress() when it should
  // ask again.
  [[nodiscard]] bool may_send(Member& member, Access access);
  // One whole command with one reply, after may_send().
  void send(Member& member, std::string_view command);
  std::uint32_t in_flight(const Member& member) const { return slots_[member.slot_].in_flight; }
  // Whether the member wants its replies now.
  void set_reading(Member& member, bool reading);
  bool reads_large_values(const Member& member) const;

  const resp::ConnectionState& told() const { return told_; }
  // Whether Redis lets connections be in this state; if that is not known it is asked, and members
  // hear on_shared_progress().
  bool is_proven();
  // Nobody is here, and nothing is to come.
  bool is_unused() const;
  // What it has is closed then: at the latest before it is disposed of.
  void close_if_unused();
  // Of the connection that the member's replies have come from.
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
  void on_reply_end(std::uint32_t slot, std::size_t bytes) override;
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

}  // namespace cuckooguard::upstream
