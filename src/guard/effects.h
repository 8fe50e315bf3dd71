// What a read changes in the guard once it is carried out: counters, tokens of its namespaces'
// tolerance, how holds for a proof have ended, and which keys were absent. The verdict is pure, so
// that a command that must wait can be judged as often as it is looked at (guard/guard.h).
//
// Threads: its worker's. Lifetimes: keys are the command's, or the reply's to it. Limits: some
// entries per key of one command; the memory is kept for the next.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "guard/counter.h"
#include "guard/hold_record.h"
#include "guard/tolerance.h"

namespace cuckooguard::guard {

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
