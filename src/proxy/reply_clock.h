// Takes the time of some of the reads that are forwarded: from the read that brought one to the
// write that took its reply to the client, by ReplyOrder's count of replies, so that it is right in
// a pipeline, too.
//
//   ReplyClock    the worker's: begins one per kEvery at most, so that the rest costs a comparison,
//                 and these one more look at the clock
//   TimedReply    a client's: the one that is on its way
//
// Not timed: what is not relayed as it is (a merged reply, one that is compared), and what stands
// behind such a one. One read per kEvery stands for all: of a stampede fewer are taken than of the
// same reads spread out.
//
// Threads: their worker's. Errors: none; a reply that never comes is never counted.
#pragma once

#include <chrono>
#include <cstdint>

#include "guard/guard.h"
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
