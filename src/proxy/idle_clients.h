// Who of a worker's clients has been silent for too long (`limits.idle_timeout`).
//
// A list in the order of the last activity, and one timer for all: it looks at the head only.
//
//   head -> [silent since 10:00:00] -> [10:00:07] -> ... -> [just now] <- touch() moves here
//
// Threads: its worker's. Lifetimes: a member removes itself before it ends, or does not outlive
// this. Limits: one entry per client, none if the timeout is 0 (off); told up to kCoarse late, at
// most once per kCoarse.
#pragma once

#include <chrono>
#include <list>
#include <memory>

#include "config/config.h"
#include "io/loop.h"

namespace cuckooguard::proxy {

class IdleClients {
 public:
  static constexpr std::chrono::milliseconds kCoarse{100};

  class Member {
   public:
    // Nothing has come from it or gone to it for the timeout. If it stays, it is asked again after
    // another one.
    virtual void on_idle() = 0;

   protected:
    ~Member() = default;

   private:
    friend class IdleClients;
    struct Entry {
      Member* member;
      io::TimePoint active;
    };
    std::list<Entry>::iterator entry_;
    bool is_listed_ = false;
  };

  IdleClients(io::Loop& loop, const config::Limits& limits) : loop_(loop), limits_(limits) {}
  IdleClients(const IdleClients&) = delete;
  IdleClients& operator=(const IdleClients&) = delete;
  ~IdleClients() = default;

  void add(Member& member);
  void touch(Member& member);
  void remove(Member& member);
  // The timeout is another one. Who was silent before is judged by it; where there was none,
  // silence begins now.
  void timeout_changed();

 private:
  void arm();
  void look();

  io::Loop& loop_;
  const config::Limits& limits_;
  std::list<Member::Entry> order_;
  std::unique_ptr<io::Timer> timer_;  // while anybody is listed
};

}  // namespace cuckooguard::proxy
