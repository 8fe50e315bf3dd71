// One pipelined connection to Redis that many clients share: whole commands with one reply each go
// out, and each reply goes to whoever asked for it, in order.
//
//   clients:  A A   B   A        one write to Redis per batch
//   runs:    |A 2|B 1|A 1|       replies come back in that order: the run at the head says whose
//                                they are
//
// The invariant: no byte that one client caused reaches another client, except what Redis itself
// would send it.
//   - a reply goes to the slot at the head of the runs, or, if that client has gone, to nobody
//   - a push is framed always, also when nothing is in flight, and thrown away: whoever asks for
//     pushes has a connection of its own (redis/lane.h), so that one here was directed by somebody
//     else (CLIENT TRACKING ... REDIRECT)
//   - a reply that nobody has asked for, or bytes that are no RESP, lose the connection: what
//     follows belongs to nobody
//
// The first command opens it, and reopens it when it was lost: as often as clients ask, one attempt
// at a time; a name is resolved anew. Nothing is sent twice.
//
// Threads: its worker's. Lifetimes: the owner outlives it.
// Errors: on_lost(), within a batch. Limits: none of its own on what is queued: the owner looks at
// has_room(); a run per change of client.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "io/loop.h"
#include "resp/connection_state.h"
#include "resp/reply_framer.h"
#include "upstream/greeted_connection.h"

namespace cuckooguard::upstream {

class SharedConnection final : GreetedConnection::Owner {
 public:
  static constexpr std::size_t kUnsentMax = std::size_t{1024} * 1024;
  // A reply above this holds up those behind it.
  static constexpr std::size_t kLargeReply = std::size_t{256} * 1024;
  // No byte for so long although replies are owed: Redis, or the network, holds up whoever comes
  // next.
  static constexpr std::chrono::milliseconds kStandsStill{10};
  // So does one that is not up yet after this.
  static constexpr std::chrono::milliseconds kIsUpWithin{250};

  class Owner {
   public:
    // Of replies to this slot: all that there is, in the worker's read buffer. `replies` > 0: just
    // so many whole ones, none of them an error. 0: a piece, or an error.
    virtual void on_replies(std::uint32_t slot, std::string_view bytes, std::uint32_t replies) = 0;
    // Before the end of it is handed on. `bytes`: how long the reply was.
    virtual void on_reply_end(std::uint32_t slot, std::size_t bytes) = 0;
    // It can take commands, has moved, or there is room again: whoever waits may ask again.
    virtual void on_progress(SharedConnection& connection) = 0;
    // `was_up`: it had been let in. `refusal`: Redis's error to the greeting, or to the connection
    // as such; nothing that was sent has been run then.
    virtual void on_lost(SharedConnection& connection, bool was_up, const std::string& refusal) = 0;
    virtual bool wants_replies(std::uint32_t slot) const = 0;

   protected:
    ~Owner() = default;
  };

  // Whose replies are owed: in the order in which they were asked for.
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
  SharedConnection(const SharedConnection&) = delete;
  SharedConnection& operator=(const SharedConnection&) = delete;
  ~SharedConnection() = default;

  // Does nothing if it is open. `pings`: it takes commands once Redis has answered one PING.
  void open(bool pings = false);
  // Disposes of it; runs are kept if the owner still needs to know them.
  void drop();
  // As if Redis had closed it.
  void give_up() { lose(); }
  // Of a connection that was lost: nothing of these will come.
  std::vector<Run> take_runs();

  void send(std::uint32_t slot, std::string_view command);
  void update_reading();

  bool is_open() const { return connection_ != nullptr; }
  // Redis has let it in, told it all, and answered.
  bool is_up() const { return is_up_; }
  bool owes() const { return first_run_ < runs_.size(); }
  bool has_room() const { return !connection_ || connection_->unsent() <= kUnsentMax; }
  // What is sent now waits longer than Redis needs: for a large reply, or nobody knows for what.
  bool is_held_up() const;
  // All that was sent has got to Redis, or to whoever acknowledges for it, and no byte has come for
  // so long.
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

  void take(std::string_view bytes);
  bool reply_has_ended();
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

}  // namespace cuckooguard::upstream
