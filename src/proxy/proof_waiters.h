// Whose next read waits for a proof (guard::Action::hold): a worker's clients that are to be asked
// again when a source has proven something, or when they have waited long enough.
//
//   worker:  judged unproven ─▶ add() ─▶ not proven since? ─▶ waits
//   source:  proof ─▶ is_to_hear() ─ yes: one post ─▶ on_proven() ─▶ each is asked again
//
// Must: no proof is missed. add() and is_to_hear() change one atomic variable, each by reading it:
// either the source finds that somebody waits, or add() comes behind it, and who asks behind add()
// whether the proof has come sees that it has.
//
// Threads: its worker's, but for is_to_hear(): any. Lifetimes: a member removes itself before it
// ends. Limits: one entry per client; at most kPerBatch are asked in one batch, so that other
// clients are served in between; the others follow in the next.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <list>
#include <memory>

#include "io/loop.h"

namespace cuckooguard::proxy {

class ProofWaiters {
 public:
  static constexpr std::chrono::milliseconds kTick{2};  // how late a wait may end
  static constexpr std::size_t kPerBatch = 256;

  class Member {
   public:
    // Within a batch. It may remove itself, or wait on; nobody else.
    virtual void on_proof() = 0;

   protected:
    ~Member() = default;

   private:
    friend class ProofWaiters;
    std::list<Member*>::iterator place_;
    io::TimePoint until_;
    bool waits_ = false;
  };

  explicit ProofWaiters(io::Loop& loop) : loop_(loop) {}
  ProofWaiters(const ProofWaiters&) = delete;
  ProofWaiters& operator=(const ProofWaiters&) = delete;
  ~ProofWaiters() = default;

  // Asked again at `until`, whatever has been proven. Who waits already keeps its place.
  void add(Member& member, io::TimePoint until);
  void remove(Member& member);  // harmless when repeated

  // A proof has been given. True: on_proven() is to be called on the worker's thread.
  bool is_to_hear() noexcept { return hears_.exchange(false, std::memory_order_acq_rel); }
  void on_proven();

 private:
  void ask(std::size_t left);
  void tick();

  io::Loop& loop_;
  std::atomic<bool> hears_{false};
  std::list<Member*> order_;               // who was asked longest ago comes first
  std::unique_ptr<io::Timer> deadlines_;   // while anybody waits
  std::unique_ptr<io::Timer> next_batch_;  // while some have yet to be asked
};

}  // namespace cuckooguard::proxy
