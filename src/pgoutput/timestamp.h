// PostgreSQL's clock: microseconds since 2000-01-01 00:00 UTC.
//
// Threads: any.
// Source: PostgreSQL's "Date/Time Types", TimestampTz.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>

namespace cuckooguard::pgoutput {

struct Timestamp {
  static constexpr std::chrono::sys_days kEpoch = std::chrono::year{2000} / 1 / 1;

  std::int64_t microseconds = 0;

  static constexpr Timestamp of(std::chrono::sys_time<std::chrono::microseconds> time) {
    return {(time - kEpoch).count()};
  }

  // The highest values, which no clock shows, stay at the last time that there is.
  constexpr std::chrono::sys_time<std::chrono::microseconds> time() const {
    using Time = std::chrono::sys_time<std::chrono::microseconds>;
    const std::chrono::microseconds since(microseconds);
    return since > Time::max() - kEpoch ? Time::max() : Time(kEpoch) + since;
  }

  auto operator<=>(const Timestamp&) const = default;
};

}  // namespace cuckooguard::pgoutput
