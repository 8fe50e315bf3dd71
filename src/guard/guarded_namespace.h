// One namespace, as the guard sees it.
//
// Threads: plain values, shared by all workers. Lifetimes: what it points to outlives the guards
// that have it.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "config/config.h"
#include "filter/live_parts.h"
#include "filter/questions.h"
#include "guard/absent_reply_bytes.h"
#include "guard/counters.h"
#include "guard/loads.h"
#include "guard/overlay.h"

namespace cuckooguard::guard {

// A namespace's mode, as an operator may change it while workers decide (GUARD.MODE).
//
// Threads: any. A worker may still use the previous mode for the command at hand.
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

// How many reads of absent keys per second a namespace forwards all the same, like any other read:
// a database can bear a few look-ups of rows that do not exist, and as long as there are no more,
// nobody can tell that the guard is there.
//
// A token bucket, one for all workers: `rate` tokens per second, and as many in store as one second
// brings, at least one. The last half of the store is for ids just above the largest seen
// (filter/live_filter.h), so that an attacker with random ids does not use it up.
//
// Must: however many take, the store is full again after the time that it takes to fill.
// Must: has_room() changes nothing, so that a verdict can be asked for twice. Several workers may
// take the last token at once: a few reads more are forwarded then.
//
// Threads: any. Cost: has_room() two loads; take() one exchange.
// Source: the generic cell rate algorithm (ITU-T I.371), with the time at which the store will be
// full again as its only state.
class Tolerance {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  enum class Use : std::uint8_t { absent_key, fresh_id };

  explicit Tolerance(double per_second = 0) noexcept { set_rate(per_second); }

  void set_rate(double per_second) noexcept {
    interval_.store(
        per_second > 0 ? static_cast<std::int64_t>(static_cast<double>(kSecond) / per_second) : 0,
        std::memory_order_relaxed);
  }
  // It is for so many guards together.
  void share(std::uint32_t guards) noexcept {
    if (sharers_.load(std::memory_order_relaxed) != guards) {  // all workers read its cache line
      sharers_.store(guards, std::memory_order_relaxed);
    }
  }
  [[nodiscard]] double rate() const noexcept {
    const std::int64_t interval = interval_.load(std::memory_order_relaxed);
    return interval > 0 ? static_cast<double>(kSecond) / static_cast<double>(interval) : 0;
  }

  // Whether this read may be forwarded, after `before` others that have not been taken yet.
  [[nodiscard]] bool has_room(TimePoint now, Use use, std::uint32_t before = 0) const noexcept {
    const std::int64_t interval = own_interval();
    if (interval == 0) {
      return false;
    }
    const std::int64_t store = std::max<std::int64_t>(interval, kSecond);
    const std::int64_t most =
        use == Use::fresh_id ? store : std::max<std::int64_t>(interval, store / 2);
    const std::int64_t at = now.time_since_epoch().count();
    const std::int64_t used =
        std::max<std::int64_t>(full_at_.load(std::memory_order_relaxed) - at, 0);
    return used + interval * (std::int64_t{before} + 1) <= most;
  }
  void take(TimePoint now) noexcept {
    const std::int64_t interval = own_interval();
    const std::int64_t at = now.time_since_epoch().count();
    std::int64_t full_at = full_at_.load(std::memory_order_relaxed);
    const std::int64_t latest = at + std::max<std::int64_t>(interval, kSecond);
    while (!full_at_.compare_exchange_weak(
        full_at, std::min(std::max(full_at, at) + interval, latest), std::memory_order_relaxed)) {
    }
  }

 private:
  static constexpr std::int64_t kSecond = 1'000'000'000;  // in nanoseconds

  std::int64_t own_interval() const noexcept {
    return interval_.load(std::memory_order_relaxed) * sharers_.load(std::memory_order_relaxed);
  }

  std::atomic<std::int64_t> interval_{0};  // nanoseconds per token; 0: none is tolerated
  std::atomic<std::uint32_t> sharers_{1};
  alignas(64) std::atomic<std::int64_t> full_at_{0};
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
  std::shared_ptr<Loads> loads{};  // null: misses are nobody's concern

  // Strict, of a source that cannot be, and has yet to be refused for that: no read of an absent
  // key is answered.
  bool enforces() const {
    return mode == config::Mode::enforce &&
           (questions == nullptr || !questions->trial().is_on.load(std::memory_order_acquire));
  }
  std::uint32_t sharers() const { return questions == nullptr ? 1 : questions->sharers(); }
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
