// Whether a namespace is under attack: whether so many reads of keys that have no row come that
// they are no accident any more.
//
//   begins  when their rate over the last kWindow is above limit_of(tolerate)
//   ends    when it has been below half of that for kQuietFor
//
// All such reads count, whatever becomes of them (is_absent, guard/counters.h): those that are
// answered, tolerated, only observed, or replaced in Redis's own reply.
//
// Threads: look() from one at a time; the rest from any, each number by itself. Limits: a sample a
// second for kWindow; an attack is noticed within kLookEvery of the read that makes it one.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>

namespace cuckooguard::guard {

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

  // Called as often as one likes. `reads`: of keys that have no row, ever.
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

  // look()'s alone: of the last kWindow, the first of them as old as that or the first of all.
  std::deque<Sample> samples_;
  std::uint64_t reads_before_ = 0;  // the attack
  std::optional<Sample> quiet_since_;

  std::atomic<bool> is_on_{false};
  std::atomic<double> rate_{0};
  std::atomic<double> peak_{0};
  std::atomic<std::uint64_t> reads_{0};
  std::atomic<TimePoint> began_at_{TimePoint()};
};

}  // namespace cuckooguard::guard
