// What a connection costs the process that it is made to.
//
// Threads: one. Errors: std::runtime_error.
#pragma once

#include <cstddef>
#include <optional>

#include "proxy_bench_results.h"
#include "proxy_bench_targets.h"

namespace cuckooguard::bench {

// Whether this process and the target's may have the descriptors for so many connections.
bool has_descriptors_for(const TargetPlan& plan, std::size_t connections);

// On a target that nothing else uses, best a fresh one: connects, reads a key on each, sends a
// pipeline of 64 on each before any reply is read, and waits until memory is back, some seconds at
// most. `with_burst`: the last two.
Memory measure_memory(const Target& target, std::size_t connections, bool with_burst);

}  // namespace cuckooguard::bench
