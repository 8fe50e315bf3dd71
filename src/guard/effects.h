// What a read changes in the guard once it is carried out: counters, tokens of its namespaces'
// tolerance, how holds for a proof have ended, and which keys were absent. The verdict is pure, so
// that a command that must wait can be judged as often as it is looked at (guard/guard.h).
//
// Threads: its worker's. Lifetimes: keys are the command's, or the reply's to it. Limits: some
// entries per key of one command; the memory is kept for the next.
#pragma once

#include <algorithm>
#include <bitset>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "guard/counters.h"
#include "guard/guarded_namespace.h"

namespace cuckooguard::guard {

// Whether it is worth while to hold reads for a proof (guard/guard.h), by how the last holds of a
// namespace have ended: when half of the last kHolds ended without a proof, nothing is held for
// kPause, so that a database that is slow already is not asked even more, and its application does
// not wait in vain.
//
// Holds that end alike within kShared have waited for one question, as a rule, and count as one: a
// crowd of clients, in one slow moment, does not end the protection of their namespace.
//
// Threads: its worker's. Limits: constant size.
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

// Of those of a command that are absent but unproven.
struct UnprovenKeys {
  Tolerance::TimePoint hold_until = Tolerance::TimePoint::max();
  std::uint32_t ns = 0;
  bool is_any = false;
  bool may_hold = true;
};

struct Effects {
  struct Hold {
    HoldRecord* record;
    bool is_proven;
  };
  // A key without a row.
  struct Absence {
    std::uint32_t ns;
    std::uint64_t hash;
    std::string_view key;
  };

  std::vector<Counter*> counts;
  std::vector<std::string_view> unguarded;  // keys
  std::vector<Tolerance*> tolerated;
  std::vector<Hold> holds;
  std::vector<Absence> absences;

  void count(Counter& counter) { counts.push_back(&counter); }
  void apply_counts() const {
    for (Counter* const counter : counts) {
      counter->add();
    }
  }
  void note_hold(HoldRecord& record, bool is_proven) {
    const auto known = std::ranges::find(holds, &record, &Hold::record);
    if (known == holds.end()) {
      holds.push_back({.record = &record, .is_proven = is_proven});
    } else {
      known->is_proven = known->is_proven && is_proven;
    }
  }
  // Keys of this command that take of it.
  std::uint32_t takes_of(const Tolerance& tolerance) const {
    return static_cast<std::uint32_t>(std::ranges::count(tolerated, &tolerance));
  }
  void clear() {
    counts.clear();
    unguarded.clear();
    tolerated.clear();
    holds.clear();
    absences.clear();
  }
};

}  // namespace cuckooguard::guard
