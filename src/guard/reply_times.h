// How long reads that were forwarded took, from the read that brought them to the write that took
// the reply back to the client: a histogram, of some of them (proxy/session.h says which).
//
// Threads: one writer; any number of readers, which may see a count before its time is in the sum.
// Limits: what takes longer than the last bound is in the last count.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "guard/counter.h"

namespace cuckooguard::guard {

class ReplyTimes {
 public:
  // Upper ends, each included. A Redis nearby takes 50 us, one that stands still for a moment a
  // second.
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

}  // namespace cuckooguard::guard
