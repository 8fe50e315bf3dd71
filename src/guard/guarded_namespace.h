// What the guard is told of one namespace.
//
// Threads: plain values, shared by all workers. Lifetimes: what it points to outlives the guards
// that have it.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "config/config.h"
#include "filter/live_parts.h"
#include "filter/questions.h"
#include "guard/absent_reply_bytes.h"
#include "guard/counters.h"
#include "guard/overlay.h"
#include "guard/tolerance.h"

namespace cuckooguard::guard {

// A namespace's mode, as an operator may change it while workers decide (GUARD.MODE).
//
// Threads: any. A worker may decide by the mode of before for as long as the command at hand takes.
class LiveMode {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor,hicpp-explicit-conversions): it stands for its value
  LiveMode(config::Mode mode) noexcept : mode_(mode) {}
  LiveMode(const LiveMode& other) noexcept : mode_(other.get()) {}
  LiveMode& operator=(const LiveMode& other) noexcept {
    set(other.get());
    return *this;
  }
  ~LiveMode() = default;

  config::Mode get() const noexcept { return mode_.load(std::memory_order_relaxed); }
  // NOLINTNEXTLINE(google-explicit-constructor,hicpp-explicit-conversions): it stands for its value
  operator config::Mode() const noexcept { return get(); }
  // What is shared by all workers is const to them, but for this.
  void set(config::Mode mode) const noexcept { mode_.store(mode, std::memory_order_relaxed); }

 private:
  mutable std::atomic<config::Mode> mode_;
};

struct GuardedNamespace {
  LiveMode mode = config::Mode::observe;
  config::Order order = config::Order::guard_first;
  double verify_sample = 0;
  bool may_enforce = true;  // an absent reply was configured
  int db = 0;
  // Of BF.* and CF.*, which are asked of its filter then (guard/filter_commands.cpp); empty: none.
  std::string filter_key{};
  AbsentReplyBytes absent_reply{config::AbsentReply{}};
  const filter::LiveParts* filter = nullptr;
  Overlay* overlay = nullptr;
  // Its source's: a row that was committed longer ago is in the filter, or the namespace passes.
  std::chrono::nanoseconds max_lag = config::kDefaultMaxLag;
  config::Consistency consistency = config::Consistency::max_lag;
  filter::Questions* questions = nullptr;  // its source's; null: it cannot be asked
  std::chrono::nanoseconds strict_hold = config::Source{}.strict_hold;
  std::shared_ptr<Tolerance> tolerance = std::make_shared<Tolerance>();           // never null
  std::shared_ptr<NamespaceCounts> counts = std::make_shared<NamespaceCounts>();  // never null

  // Strict, of a source that cannot be, and has yet to be refused for that: no read of an absent
  // key is answered.
  bool refuses_strict() const { return questions != nullptr && questions->refuses_strict(); }
  // Whether an absent verdict needs a proof that is newer than the read.
  bool is_strict() const {
    if (consistency != config::Consistency::automatic) {
      return consistency == config::Consistency::strict;
    }
    return !absent_reply.is_nil() && questions != nullptr && questions->serves_strict();
  }
};

}  // namespace cuckooguard::guard
