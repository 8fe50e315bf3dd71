// Whose next command must wait: a worker's clients that are to be asked again soon
// (guard/own_commands.h).
//
// One timer for all, every kTick while there is anybody; each tick takes the first kPerTick in
// turn, so that 10,000 clients in GUARD.WAIT cost hardly more than 256 (10 % of a core at most),
// and are each looked at less often: every 40 ms.
//
// Why not told by the source: asking takes less than 1 us, waking a thread's loop from another one
// takes more than that and a way to it, and a client waits for half a tick on average, which is
// less than its own way here and back.
//
// Threads: its worker's. Lifetimes: a member removes itself before it ends.
// Limits: one entry per client.
#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <memory>

#include "io/loop.h"

namespace cuckooguard::proxy {

class HeldClients {
 public:
  static constexpr std::chrono::milliseconds kTick{1};
  static constexpr std::size_t kPerTick = 256;

  class Member {
   public:
    // Within a batch. It may remove itself, but nobody else.
    virtual void on_tick() = 0;

   protected:
    ~Member() = default;

   private:
    friend class HeldClients;
    std::list<Member*>::iterator place_;
    bool is_held_ = false;
  };

  explicit HeldClients(io::Loop& loop) : loop_(loop) {}
  HeldClients(const HeldClients&) = delete;
  HeldClients& operator=(const HeldClients&) = delete;
  ~HeldClients() = default;

  // Harmless when repeated, both.
  void add(Member& member);
  void remove(Member& member);

 private:
  void arm();
  void look();

  io::Loop& loop_;
  std::list<Member*> order_;          // who was asked longest ago comes first
  std::unique_ptr<io::Timer> timer_;  // while anybody is held
};

}  // namespace cuckooguard::proxy
