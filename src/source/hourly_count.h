// How often something happened in the last hour, to a minute.
//
// Threads: one at a time. Limits: constant size; it moves on only as it is told the time.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <numeric>

namespace cuckooguard::source {

class HourlyCount {
 public:
  // `at` never goes back.
  void add(std::uint64_t count, std::chrono::steady_clock::time_point at) {
    const auto minute =
        std::chrono::duration_cast<std::chrono::minutes>(at.time_since_epoch()).count();
    if (minute - minute_ >= kMinutes) {
      counts_.fill(0);
      minute_ = minute;
    }
    while (minute_ < minute) {
      counts_[static_cast<std::size_t>(++minute_ % kMinutes)] = 0;
    }
    counts_[static_cast<std::size_t>(minute_ % kMinutes)] += count;
  }
  std::uint64_t total() const {
    return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
  }

 private:
  static constexpr std::int64_t kMinutes = 60;

  std::array<std::uint64_t, kMinutes> counts_{};  // by minute
  std::int64_t minute_ = 0;                       // the last one
};

}  // namespace cuckooguard::source
