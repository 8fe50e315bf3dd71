// redis-benchmark on a target, and what it costs there.
//
// Threads: one. Errors: std::runtime_error.
#pragma once

#include <map>
#include <string>
#include <tuple>

#include <sys/types.h>

#include "proxy_bench_cells.h"
#include "proxy_bench_results.h"
#include "proxy_bench_targets.h"

namespace cuckooguard::bench {

// CPU time of all threads of a process since they were started. The kernel counts it to the
// nanosecond.
// Source: /proc/PID/task/*/schedstat, first number; Documentation/scheduler/sched-stats.rst.
double cpu_microseconds(pid_t pid);

class LoadGenerator {
 public:
  // For about so many seconds, whatever the target's speed: that is found out by short runs first.
  Sample run(const Target& target, const Cell& cell, double seconds);

 private:
  using Pace =
      std::tuple<std::string, Load, unsigned, unsigned>;  // target, load, pipeline, clients

  double try_out(const Target& target, const Cell& cell) const;  // requests per second
  Sample run_requests(const Target& target, const Cell& cell, std::uint64_t requests) const;

  harness::TemporaryDirectory directory_;
  std::map<Pace, double> paces_;  // requests per second
};

}  // namespace cuckooguard::bench
