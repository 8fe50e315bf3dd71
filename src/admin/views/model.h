// What /status and /metrics show, at one moment.
//
// Threads: the admin thread's; what it refers to may be written by others, in atomics. Counters are
// each read once, at slightly different times.
#pragma once

#include "guard/fact_table.h"
#include "views/filter_probe.h"
#include "views/process_state.h"

namespace cuckooguard::views {

// This process's use of the machine, as Prometheus's client libraries report it (process_*).
//
// Threads: any. Errors: unavailable numbers are 0.
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
  const FilterProbe* probe = nullptr;  // null: not measured
};

// The facts of the guard's providers, and those that only the admin server knows: the process
// itself, and the admin thread's measurements.
guard::FactTable facts_of(const Model& model, const ProcessUse& use);

}  // namespace cuckooguard::views
