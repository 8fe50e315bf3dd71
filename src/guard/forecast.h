// What enforce would do in a strict namespace that only observes: of some reads that are found
// absent a proof is wanted, as if they were held for it, and the filter is asked again with it.
//
// A sample is looked at when the next read of its namespace is observed: in a quiet namespace a
// proof that came too late for `strict_hold` counts as one in time.
//
// Threads: its worker's, between Epochs::Reader enter() and leave(). Limits: one read of each
// namespace at a time, and one per kEvery.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "guard/counters.h"
#include "guard/effects.h"
#include "guard/guard_parts.h"
#include "guard/key_judge.h"

namespace cuckooguard::guard {

class Forecasts {
 public:
  static constexpr std::chrono::milliseconds kEvery{100};

  void adopt(std::size_t namespaces) { samples_.assign(namespaces, {}); }

  // Whose verdicts these are; `counters`: of the namespace at hand.
  struct Who {
    const GuardParts& parts;
    KeyJudge& judge;
    NamespaceCounters& counters;
  };
  // It was observed to be absent, in a read that arrived at `read_at`.
  void see(const Effects::Absence& seen, TimePoint read_at, TimePoint now, const Who& who);

 private:
  struct Sample {
    std::string key;
    TimePoint read_at{};
    bool is_open = false;
  };

  bool close(Sample& sample, const GuardedNamespace& space, TimePoint now, const Who& who);

  std::vector<Sample> samples_;  // by namespace
  keyspace::IdentityBuffer identity_;
};

}  // namespace cuckooguard::guard
