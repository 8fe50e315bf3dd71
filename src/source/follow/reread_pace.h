// How long a table waits that has to be read again: hardly, unless that comes too often.
//
// Each time costs kEach, and time that the table is in step pays it back: kFreely times in a row
// are free, and one each kEach for good. Beyond that the pause doubles, up to kPauseMax. A reason
// that stays (what the log says of a table and what a snapshot says do not go together) so costs
// the database a read every two minutes, not one after the other; one that comes now and then
// (TRUNCATE, ALTER) costs nothing.
//
// Threads: under its lock. Limits: kPauseMax.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

namespace cuckooguard::source {

class RereadPace {
 public:
  using Duration = std::chrono::nanoseconds;

  static constexpr int kFreely = 10;
  static constexpr std::chrono::minutes kEach{1};
  static constexpr std::chrono::seconds kPauseMin{1};
  static constexpr std::chrono::seconds kPauseMax{120};

  // It has to be read again, and was in step for so long before. Nothing: no pause is due.
  std::optional<Duration> next(Duration in_step) {
    debt_ = std::max(debt_ - in_step, Duration::zero()) + kEach;
    debt_ = std::min<Duration>(debt_, (kFreely + kDoublings + 1) * kEach);
    if (debt_ <= kFreely * kEach) {
      return std::nullopt;
    }
    const auto doublings = (debt_ - kFreely * kEach - Duration(1)) / kEach;
    return std::min<Duration>(kPauseMin * (1 << doublings), kPauseMax);
  }

 private:
  static constexpr int kDoublings = 7;

  Duration debt_{};
};

}  // namespace cuckooguard::source
