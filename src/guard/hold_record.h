// Whether it is worth while to hold reads for a proof (guard/guard.h), by how the last holds of a
// namespace have ended: when half of the last kHolds ended without a proof, nothing is held for
// kPause, so that a database that is slow already is not asked even more, and its application does
// not wait in vain.
//
// Holds that end alike within kShared have waited for one question, as a rule, and count as one: a
// crowd of clients, in one slow moment, does not end the protection of their namespace.
//
// Threads: its worker's. Limits: constant size.
#pragma once

#include <bitset>
#include <chrono>
#include <cstddef>

namespace cuckooguard::guard {

class HoldRecord {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  static constexpr std::size_t kHolds = 100;
  static constexpr std::chrono::seconds kPause{1};
  static constexpr std::chrono::milliseconds kShared{2};

  void add(bool is_proven, TimePoint now) {
    if (is_proven == last_is_proven_ && now < counted_at_ + kShared) {
      return;
    }
    last_is_proven_ = is_proven;
    counted_at_ = now;
    in_vain_[next_] = !is_proven;
    next_ = (next_ + 1) % kHolds;
    if (in_vain_.count() >= kHolds / 2) {
      in_vain_.reset();
      paused_until_ = now + kPause;
    }
  }
  bool may_hold(TimePoint now) const { return now >= paused_until_; }

 private:
  std::bitset<kHolds> in_vain_;
  std::size_t next_ = 0;
  TimePoint paused_until_{};
  TimePoint counted_at_{};  // the last one
  bool last_is_proven_ = true;
};

}  // namespace cuckooguard::guard
