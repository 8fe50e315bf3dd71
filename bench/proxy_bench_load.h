// redis-benchmark on what it is pointed at, and what that costs there.
//
// Threads: one. Errors: std::runtime_error.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <sys/types.h>

#include "harness/temporary_directory.h"
#include "proxy_bench_cells.h"
#include "proxy_bench_results.h"

namespace cuckooguard::bench {

// CPU time of all threads of a process since they were started. The kernel counts it to the
// nanosecond.
// Source: /proc/PID/task/*/schedstat, first number; Documentation/scheduler/sched-stats.rst.
double cpu_microseconds(pid_t pid);

// What redis-benchmark is pointed at: a port of 127.0.0.1, behind which these processes work.
struct Loaded {
  std::string name;
  std::uint16_t port = 0;
  std::vector<std::string> options{};  // of redis-benchmark, besides the port
  std::optional<pid_t> proxy{};
  std::vector<pid_t> redis{};
  bool is_cluster = false;
};

class LoadGenerator {
 public:
  // For about so many seconds, whatever the target's speed: that is found out by short runs first.
  Sample run(const Loaded& target, const Cell& cell, double seconds);

 private:
  // Target, load, pipeline, clients.
  using Pace = std::tuple<std::string, Load, unsigned, unsigned>;

  double try_out(const Loaded& target, const Cell& cell) const;  // requests per second
  Sample run_requests(const Loaded& target, const Cell& cell, std::uint64_t requests) const;

  harness::TemporaryDirectory directory_;
  std::map<Pace, double> paces_;  // requests per second
};

}  // namespace cuckooguard::bench
