// A worker's clients that are waiting for something: each list asks its members again in their
// order, by one timer for all.
//
//   IdleClients    by last activity: on_idle() after `limits.idle_timeout` of silence HeldClients
//   their next command must wait (guard/own_commands.h): asked every tick ProofWaiters   their next
//   read waits for a proof (guard::Action::hold): asked when a source has
//                  proven something, or when they have waited long enough
//
// Threads: the worker's, but for ProofWaiters::is_to_hear(): any. Lifetimes: a member leaves its
// list when it ends. Limits: one entry per client, which is part of it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>

#include <boost/core/noncopyable.hpp>
#include <boost/intrusive/list.hpp>

#include "config/config.h"
#include "io/loop.h"

namespace cuckooguard::proxy {

using ListHook =
    boost::intrusive::list_member_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;
template <typename Member, ListHook Member::* kHook>
using MemberList = boost::intrusive::list<Member,
                                          boost::intrusive::member_hook<Member, ListHook, kHook>,
                                          boost::intrusive::constant_time_size<false>>;

// In the order of the last activity; the timer looks at the head only.
//
//   head -> [silent since 10:00:00] -> [10:00:07] -> ... -> [just now] <- touch() moves here
//
// Limits: empty if the timeout is 0 (off); told up to kCoarse late, at most once per kCoarse.
class IdleClients : boost::noncopyable {
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
    ListHook in_list_;
    io::TimePoint active_;
  };

  IdleClients(io::Loop& loop, const config::Limits& limits) : loop_(loop), limits_(limits) {}

  void add(Member& member);
  void touch(Member& member);
  void remove(Member& member) { member.in_list_.unlink(); }  // harmless when repeated
  // The timeout has changed, and also applies to silence so far; if there was none before, silence
  // begins now.
  void timeout_changed();

 private:
  void arm();
  void look();

  io::Loop& loop_;
  const config::Limits& limits_;
  MemberList<Member, &Member::in_list_> order_;
  std::unique_ptr<io::Timer> timer_;  // while the list has members
};

// Each tick takes the first kPerTick in turn, so that 10,000 clients in GUARD.WAIT cost hardly more
// than 256 (10 % of a core at most), and are each asked less often: every 40 ms.
//
// Why the source does not notify them: asking takes less than 1 us, waking a thread's loop from
// another one takes longer, and a client waits for half a tick on average, which is less than a
// round trip.
class HeldClients : boost::noncopyable {
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
    ListHook in_list_;
  };

  explicit HeldClients(io::Loop& loop) : loop_(loop) {}

  // Harmless when repeated, both.
  void add(Member& member);
  void remove(Member& member) { member.in_list_.unlink(); }

 private:
  void look();

  io::Loop& loop_;
  MemberList<Member, &Member::in_list_> order_;  // asked longest ago comes first
  std::unique_ptr<io::Timer> timer_;             // while the list has members
};

//   worker:  judged unproven ─▶ add() ─▶ not proven since? ─▶ waits
//   source:  proof ─▶ is_to_hear() ─ yes: one post ─▶ on_proven() ─▶ each is asked again
//
// Must: no proof is missed. add() and is_to_hear() change one atomic variable, each by reading it:
// either the source finds that somebody waits, or add() comes after it, and whoever asks after
// add() whether the proof has come sees that it has.
//
// Limits: at most kPerBatch are asked in one batch, so that other clients are served in between;
// the others follow in the next.
class ProofWaiters : boost::noncopyable {
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
    ListHook in_list_;
    io::TimePoint until_;
  };

  explicit ProofWaiters(io::Loop& loop) : loop_(loop) {}

  // Asked again at `until`, whatever has been proven. One that waits already keeps its place.
  void add(Member& member, io::TimePoint until);
  void remove(Member& member) { member.in_list_.unlink(); }  // harmless when repeated

  // A proof has been given. True: on_proven() is to be called on the worker's thread.
  bool is_to_hear() noexcept { return hears_.exchange(false, std::memory_order_acq_rel); }
  void on_proven();

 private:
  void ask();
  void tick();

  io::Loop& loop_;
  std::atomic<bool> hears_{false};
  MemberList<Member, &Member::in_list_> order_;    // asked longest ago comes first
  MemberList<Member, &Member::in_list_> unasked_;  // since the last proof
  std::unique_ptr<io::Timer> deadlines_;           // while anybody waits
  std::unique_ptr<io::Timer> next_batch_;          // while there are unasked ones
};

}  // namespace cuckooguard::proxy
