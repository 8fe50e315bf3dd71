// What a worker's guard counts. Written by that worker, read by any thread (metrics add up the
// workers).
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "guard/traffic.h"

namespace cuckooguard::guard {

// A number that one thread counts and any may read.
class Counter {
 public:
  // One writer: no locked instruction.
  void add(std::uint64_t amount = 1) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
  std::uint64_t value() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

// Whether a namespace is under attack: more reads of keys without a row than can be an accident.
//
//   begins  when their rate over the last kWindow is above limit_of(tolerate)
//   ends    when it has been below half of that for kQuietFor
//
// All such reads count (is_absent): answered, tolerated, only observed, or replaced in Redis's
// reply.
//
// Threads: look() from one at a time; the rest from any, each number by itself. Limits: one sample
// per second for kWindow; an attack is detected within kLookEvery of the read that makes it one.
class AttackWatch {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  static constexpr std::chrono::seconds kLookEvery{1};
  static constexpr std::chrono::seconds kWindow{5};
  static constexpr std::chrono::seconds kQuietFor{30};
  static constexpr double kLimitLeast = 10;  // reads per second

  // Reads per second; `tolerate` likewise.
  static constexpr double limit_of(double tolerate) { return std::max(kLimitLeast, 2 * tolerate); }

  struct Change {
    bool has_begun = false;  // else it has ended
    double rate = 0;         // over the last kWindow, reads per second
    double peak = 0;         // the highest such rate of this attack
    // From the start of the window in which it was noticed to when it fell silent.
    std::chrono::nanoseconds lasted{0};
    std::uint64_t reads = 0;  // in that time
  };

  // May be called at any rate. `reads`: of keys that have no row, ever.
  std::optional<Change> look(TimePoint now, std::uint64_t reads, double tolerate);

  bool is_on() const { return is_on_.load(std::memory_order_relaxed); }
  double rate() const { return rate_.load(std::memory_order_relaxed); }
  // Of the attack that is on; else of the last one.
  double peak() const { return peak_.load(std::memory_order_relaxed); }
  std::uint64_t reads() const { return reads_.load(std::memory_order_relaxed); }
  TimePoint began_at() const { return began_at_.load(std::memory_order_relaxed); }

 private:
  struct Sample {
    TimePoint at;
    std::uint64_t reads;
  };

  // For look() alone: samples of the last kWindow; the first is that old, or the first of all.
  std::deque<Sample> samples_;
  std::uint64_t reads_before_ = 0;  // the attack
  std::optional<Sample> quiet_since_;

  std::atomic<bool> is_on_{false};
  std::atomic<double> rate_{0};
  std::atomic<double> peak_{0};
  std::atomic<std::uint64_t> reads_{0};
  std::atomic<TimePoint> began_at_{TimePoint()};
};

// The guard's verdict on one key, in the order of the checks. Only the last five mean that it has
// no row (is_absent).
enum class Verdict : std::uint8_t {
  unguarded,    // belongs to no namespace
  bypassed,     // the namespace's mode is bypass
  other_db,     // the client has selected another db than the namespace's
  not_allowed,  // the client's user is not known to be allowed this command on the namespace's keys
  not_fresh,    // no filter yet, or too long without proof that it is up to date
  fresh_id,     // just above the largest id seen: its event may be on its way
  may_exist,    // the filter cannot rule it out
  overlaid,     // written through the guard a moment ago
  unproven,     // strict: absent, but not proven since the read arrived
  tolerated,    // absent, but so few such reads come that they are forwarded
  observed,     // absent, but the namespace's mode is observe
  redis_first,  // absent, but in this namespace Redis is asked first
  absent,       // absent, and to be answered
};
inline constexpr std::size_t kVerdicts = 13;
struct VerdictName {
  const char* in_info;  // its field in GUARD.INFO
  std::string_view name;
};
inline constexpr std::array<VerdictName, kVerdicts> kVerdictNames{
    {{"", "unguarded"},  // nothing is counted there
     {"keys_bypassed", "bypassed"},
     {"keys_of_other_db", "other_db"},
     {"keys_not_allowed", "not_allowed"},
     {"keys_not_fresh", "not_fresh"},
     {"keys_of_fresh_ids", "fresh_id"},
     {"keys_that_may_exist", "may_exist"},
     {"keys_overlaid", "overlaid"},
     {"keys_unproven", "unproven"},
     {"keys_tolerated", "tolerated"},
     {"keys_observed_absent", "observed"},
     {"keys_redis_first_absent", "redis_first"},
     {"keys_answered_absent", "absent"}}};
constexpr std::string_view name_of(Verdict verdict) {
  return kVerdictNames.at(static_cast<std::size_t>(verdict)).name;
}
constexpr bool is_absent(Verdict verdict) {
  return verdict >= Verdict::unproven;
}

// Keys of reads by verdict; of a read that is answered as a whole, up to the first that may exist.
// Never `unguarded`: such a key has no namespace.
struct alignas(64) NamespaceCounters {
  std::array<Counter, kVerdicts> keys;
  Counter learned;  // keys of writes that went into the overlay
  Counter added;    // keys that GUARD.ADD put there
  Counter lost;     // of both: dropped early, as their client or user had filled its share
  Counter sampled;  // of the absent ones: Redis was asked all the same (verify_sample)
  // By what Redis replied (guard/absent_key.h).
  Counter verified;      // nothing either, or the absent reply's own bytes
  Counter contradicted;  // something else
  Counter replaced;      // of the unproven: answered, since Redis said nil and the proof had come
  // A sample of reads observed in a strict namespace (guard/guard.h).
  Counter forecast_answered;  // enforce would have answered them
  Counter forecast_passed;    // in time there was no proof, or there was a row
  Counter unverified;  // nothing that can be compared: an error; or the read names several keys

  Counter& of(Verdict verdict) { return keys[static_cast<std::size_t>(verdict)]; }
  const Counter& of(Verdict verdict) const { return keys[static_cast<std::size_t>(verdict)]; }
};

// One namespace's counters, kept over reloads as long as it is the same namespace.
struct NamespaceCounts {
  explicit NamespaceCounts(std::size_t workers = 1) : by_worker(workers) {}

  // Over all workers: counter_of(counters of one) -> Counter, or a member of theirs.
  template <class CounterOf>
  std::uint64_t sum(const CounterOf& counter_of) const {
    std::uint64_t all = 0;
    for (const NamespaceCounters& counters : by_worker) {
      all += std::invoke(counter_of, counters).value();
    }
    return all;
  }
  std::uint64_t sum(Verdict verdict) const {
    return sum([verdict](const NamespaceCounters& counters) -> const Counter& {
      return counters.of(verdict);
    });
  }

  // Reads of keys without a row, whatever the outcome.
  std::uint64_t absent_keys() const {
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < kVerdicts; ++i) {
      const auto verdict = static_cast<Verdict>(i);
      all += is_absent(verdict) ? sum(verdict) : 0;
    }
    return all;
  }

  std::vector<NamespaceCounters> by_worker;
  NamespaceCounters checked;         // `keys` of what was asked by HTTP; the admin server's
  AttackWatch attack;                // looks at absent_keys() (app/assembly.h)
  std::unique_ptr<Traffic> traffic;  // null: nobody wants to hear of it
};

// A histogram of how long forwarded reads took, from the read of the socket to the write of their
// reply: a sample (proxy/session.h).
//
// Threads: one writer; any number of readers, which may see a count before its time is in the sum.
// Limits: the last count is of times above the last bound.
class ReplyTimes {
 public:
  // Upper bounds, inclusive: from a near Redis (50 us) to one that stalls for a second.
  static constexpr std::array<std::chrono::microseconds, 18> kBounds{
      std::chrono::microseconds{20},
      std::chrono::microseconds{50},
      std::chrono::microseconds{100},
      std::chrono::microseconds{200},
      std::chrono::microseconds{500},
      std::chrono::microseconds{1'000},
      std::chrono::microseconds{2'000},
      std::chrono::microseconds{5'000},
      std::chrono::microseconds{10'000},
      std::chrono::microseconds{20'000},
      std::chrono::microseconds{50'000},
      std::chrono::microseconds{100'000},
      std::chrono::microseconds{200'000},
      std::chrono::microseconds{500'000},
      std::chrono::microseconds{1'000'000},
      std::chrono::microseconds{2'000'000},
      std::chrono::microseconds{5'000'000},
      std::chrono::microseconds{10'000'000}};
  static constexpr std::size_t kCounts = kBounds.size() + 1;

  void add(std::chrono::nanoseconds time) noexcept {
    const auto* const bound = std::ranges::lower_bound(kBounds, time);
    counts_[static_cast<std::size_t>(bound - kBounds.begin())].add();
    nanoseconds_.add(static_cast<std::uint64_t>(std::max<std::int64_t>(0, time.count())));
  }

  const Counter& count(std::size_t bucket) const { return counts_.at(bucket); }
  const Counter& nanoseconds() const { return nanoseconds_; }

 private:
  std::array<Counter, kCounts> counts_;
  Counter nanoseconds_;  // of all
};

struct GuardCounters {
  Counter answered;      // commands, whole
  Counter guarded_keys;  // of reads: of a namespace, and of none
  Counter unguarded_keys;
  // Reads forwarded without checking their keys, by reason.
  Counter unsettled_reads;    // MULTI, WATCH, or a change in flight
  Counter not_allowed_reads;  // user not known to be allowed anything, or not authenticated
  Counter unavailable_reads;  // Redis is loading, busy ..., or may be another than the one known
  Counter other_node_reads;   // Redis may reply -MOVED, -ASK or -CROSSSLOT
  Counter no_room_reads;      // the session could not have held the answer
  // Keys of reads that passed because their client had filled its share of an overlay within
  // max_lag.
  Counter share_filled_keys;
  Counter scripts_without_keys;  // EVAL, EVALSHA, FCALL: what they write cannot be seen
  ReplyTimes reply_times;        // of reads that were forwarded
};

}  // namespace cuckooguard::guard
