// What a read changes in the guard once it is carried out: counters, tokens of its namespaces'
// tolerance, how holds for a proof have ended. The verdict is pure, so that a command that must wait
// can be judged as often as it is looked at (guard/guard.h).
//
// Threads: its worker's. Lifetimes: keys are the command's. Limits: some entries per key of one
// command; the memory is kept for the next.
#pragma once

#include <string_view>
#include <vector>

#include "guard/counter.h"
#include "guard/hold_record.h"
#include "guard/tolerance.h"

namespace cuckooguard::guard {

struct Effects {
  struct Hold {
    HoldRecord* record;
    bool is_proven;
  };

  std::vector<Counter*> counts;
  std::vector<std::string_view> unguarded;  // keys
  std::vector<Tolerance*> tolerated;
  std::vector<Hold> holds;

  void count(Counter& counter) { counts.push_back(&counter); }
  void clear() {
    counts.clear();
    unguarded.clear();
    tolerated.clear();
    holds.clear();
  }
};

}  // namespace cuckooguard::guard
