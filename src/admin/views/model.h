// What the pages /status and /metrics look at, at one moment.
//
// Threads: the admin thread's; what it refers to may be written by others, in atomics. Counters are
// each read once, not all at one moment.
#pragma once

#include <cstdint>
#include <optional>

#include "guard/guard.h"
#include "guard/process.h"
#include "views/check.h"
#include "views/filter_probe.h"
#include "views/process_state.h"

namespace cuckooguard::views {

struct Model {
  const guard::Guard::Parts& guarded;
  const guard::Process& process;
  const redis::Snapshot& redis;
  const ProcessState& process_state;
  const Check& check;
  guard::TimePoint now;
  const FilterProbe* probe = nullptr;  // null: nobody has looked

  // Over all workers' guards: counter_of(guard) -> Counter.
  template <class CounterOf>
  std::uint64_t sum(const CounterOf& counter_of) const {
    std::uint64_t all = 0;
    for (const guard::Guard* const guard : process.guards) {
      all += counter_of(*guard).value();
    }
    return all;
  }
  // One namespace's, over all workers: counter_of(its counters of a worker) -> Counter.
  template <class CounterOf>
  std::uint64_t sum(std::uint32_t ns, const CounterOf& counter_of) const {
    return guarded.namespaces[ns].counts->sum(counter_of);
  }

  // Since the moment at which a namespace was last known to be up to date; nothing if it never was.
  std::optional<std::chrono::nanoseconds> proof_age(std::uint32_t ns) const {
    const guard::TimePoint until = guarded.namespaces[ns].filter->fresh_until();
    if (until == guard::TimePoint::min() || ns >= process.origins.size()) {
      return std::nullopt;
    }
    return now - (until - process.origins[ns].max_lag);
  }
};

}  // namespace cuckooguard::views
