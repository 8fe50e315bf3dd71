// Times a sample of the forwarded reads, from the socket read that brought one to the write of its
// reply, by ReplyOrder's count of replies, so that it is right in a pipeline, too.
//
//   ReplyClock    the worker's: begins at most one per kEvery, so that the others cost a comparison
//   TimedReply    a client's: the one in flight
//
// Not timed: merged or compared replies, and those after them. One read per kEvery: a burst is
// sampled less than the same reads spread out.
//
// Threads: their worker's. Errors: none; a reply that never comes is never counted.
#pragma once

#include <chrono>
#include <cstdint>

#include "guard/guard.h"
#include "io/clock.h"
#include "io/loop.h"
#include "proxy/reply_order.h"
#include "redis/command_table.h"

namespace cuckooguard::proxy {

class ReplyClock {
 public:
  static constexpr std::chrono::milliseconds kEvery{1};

  // Both outlive this.
  ReplyClock(const io::Loop& loop, guard::Guard& guard) : loop_(loop), guard_(guard) {}

  bool is_due(io::TimePoint now) const { return now >= due_; }
  void begin(io::TimePoint now) { due_ = now + kEvery; }
  void end(io::TimePoint begun) const { guard_.note_reply_time(loop_.now() - begun); }

 private:
  const io::Loop& loop_;
  guard::Guard& guard_;
  io::TimePoint due_{};
};

class TimedReply {
 public:
  // `order` has just been told to expect the reply to a command that was read at `now`.
  void expected(ReplyClock& clock,
                const redis::Command& command,
                const ReplyOrder& order,
                io::TimePoint now) {
    if (number_ == 0 && clock.is_due(now) && is_quick_read(command)) {
      number_ = order.last_if_plain();
      begun_ = now;
      if (number_ != 0) {
        clock.begin(now);
      }
    }
  }
  // What `order` has relayed is written, as far as the client takes it.
  void written(const ReplyClock& clock, const ReplyOrder& order) {
    if (number_ != 0 && order.plain_relayed() >= number_) {
      clock.end(begun_);
      number_ = 0;
    }
  }

 private:
  // XREAD may block.
  static bool is_quick_read(const redis::Command& command) {
    return redis::may_be_answered(command.role) && command.keys != redis::KeyShape::streams;
  }

  std::uint64_t number_ = 0;  // of its reply, by ReplyOrder's count; 0: none is timed
  io::TimePoint begun_{};
};

}  // namespace cuckooguard::proxy
