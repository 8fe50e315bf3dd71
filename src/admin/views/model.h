// What the pages /status and /metrics look at, at one moment.
//
// Threads: the admin thread's; what it refers to may be written by others, in atomics. Counters are
// each read once, not all at one moment.
#pragma once

#include "guard/fact_table.h"
#include "views/filter_probe.h"
#include "views/process_state.h"

namespace cuckooguard::views {

// What this process uses of the machine, as Prometheus's own client libraries tell it (process_*).
//
// Threads: any. Errors: what the kernel does not tell is 0.
struct ProcessUse {
  double cpu_seconds = 0;
  double resident_bytes = 0;
  double virtual_bytes = 0;
  double start_time_seconds = 0;  // since 1970
  double open_descriptors = 0;
  double descriptors_max = 0;
};

ProcessUse process_use();

struct Model {
  const guard::Guard::Parts& guarded;
  const guard::Process& process;
  const redis::Snapshot& redis;
  const ProcessState& process_state;
  guard::TimePoint now;
  const FilterProbe* probe = nullptr;  // null: nobody has looked
};

// What the guard's providers show, and beside it what the admin server alone knows: the process as
// seen from outside of the guard, and what the admin thread has measured.
guard::FactTable facts_of(const Model& model, const ProcessUse& use);

}  // namespace cuckooguard::views
