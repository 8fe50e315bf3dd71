// One pipelined connection to Redis that many clients share: each sends whole commands with one reply each, and gets its
// own replies, in order.
//
//   clients:  A A   B   A        one write to Redis per batch
//   runs:    |A 2|B 1|A 1|       replies come back in that order: the run at the head says whose they are
//
// The first command opens it, and reopens it when it was lost: as often as clients ask, one attempt at a time; a name is
// resolved anew. Nothing is sent twice. It is paused for a client that does not read while nobody else waits for replies,
// and only then.
//
// A user's connection is there as long as the user has clients, and is tried once more when it was lost: Redis closes the
// clients of a user that is deleted, and so those here are closed, too, who ask for nothing.
//
// Called by: Upstreams (owns it), proxy::Route (a member). Threads: its worker's. Lifetimes: a member leaves before it ends;
// may do so within any call. Errors: when the connection is lost, members with replies to come hear on_shared_lost();
// the others stay. If Redis refuses the greeting (a password changed, a user gone), all hear it.
// Limits: none of its own: members look at unsent() and in_flight(); a run per change of client.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "io/loop.h"
#include "resp/connection_state.h"
#include "resp/reply_framer.h"
#include "upstream/greeted_connection.h"

namespace cuckooguard::upstream {

class SharedUpstream final : public io::Mortal, GreetedConnection::Owner {
 public:
  class Member {
   public:
    // Of its replies: all that there is, in the worker's read buffer. `replies` > 0: just so many whole ones, none of
    // them an error, and no pushes between them. 0: a piece, or something else.
    virtual void on_shared_bytes(std::string_view bytes, std::uint32_t replies) = 0;
    // Its replies will not come, or it is not welcome any more. It has left.
    virtual void on_shared_lost() = 0;
    // unsent() was too much, and is not any more.
    virtual void on_shared_room() = 0;

   protected:
    ~Member() = default;

   private:
    friend class SharedUpstream;
    std::uint32_t slot_ = 0;
  };

  static constexpr std::size_t kUnsentMax = std::size_t{1024} * 1024;

  // Redis has closed a connection in this state: what was known of its user may be so no longer.
  using OnLoss = std::function<void(const resp::ConnectionState& told)>;

  SharedUpstream(io::Loop& loop,
                 const config::Upstream& settings,
                 resp::ConnectionState told,
                 OnLoss on_loss);
  SharedUpstream(const SharedUpstream&) = delete;
  SharedUpstream& operator=(const SharedUpstream&) = delete;
  ~SharedUpstream() override = default;

  void join(Member& member);
  void leave(Member& member);  // replies to come are dropped

  // One whole command with one reply.
  void send(Member& member, std::string_view command);
  std::uint32_t in_flight(const Member& member) const { return slots_[member.slot_].in_flight; }
  // A member that asked hears on_shared_room().
  bool has_room(Member& member);
  // Whether the member wants its replies now.
  void set_reading(Member& member, bool reading);

  const resp::ConnectionState& told() const { return told_; }
  // Nobody is here, and nothing is to come.
  bool is_unused() const { return members_ == 0 && first_run_ == runs_.size(); }
  io::TimePoint opened_at() const { return opened_at_; }

 private:
  struct Slot {
    Member* member = nullptr;  // null: it has left
    std::uint32_t in_flight = 0;
    bool wants_room = false;
    bool wants_replies = true;
  };
  struct Run {
    std::uint32_t slot = 0;
    std::uint32_t replies = 0;
  };

  void on_upstream_up() override { was_up_ = true; }
  void on_upstream_bytes(std::string_view bytes) override;
  void on_upstream_progress() override;
  void on_upstream_lost() override;

  void open();
  void update_reading();
  bool reply_has_ended();
  void hand_on(std::uint32_t slot, std::string_view bytes, std::uint32_t replies);
  void drop_connection();

  io::Loop& loop_;
  const config::Upstream& settings_;
  resp::ConnectionState told_;
  OnLoss on_loss_;
  std::unique_ptr<GreetedConnection>
      connection_;  // null: it was lost, or nothing has been asked yet
  resp::ReplyFramer framer_;
  std::vector<Run> runs_;
  std::size_t first_run_ = 0;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_slots_;
  std::size_t members_ = 0;
  bool room_is_wanted_ = false;
  bool was_up_ = false;
  bool is_new_ = true;  // no reply has come yet
  bool is_turned_away_ =
      false;  // nothing but an error has come: "-ERR max number of clients reached"
  io::TimePoint opened_at_{};
};

}  // namespace cuckooguard::upstream
