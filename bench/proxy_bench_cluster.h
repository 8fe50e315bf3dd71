// The guard in front of a Redis Cluster of three masters, beside the same cluster without it:
// redis-benchmark --cluster, which asks a node for the others, and sends each key to its own.
//
// The last line is for machines: throughput of the guard, in both modes, to that without it, for
// rows' keys and no row's, c = 50, pipelines of N; CPU of the three nodes together per hit behind
// the guard over that without.
//
// Threads: any; no I/O.
#pragma once

#include <string>

#include "proxy_bench_results.h"

namespace cuckooguard::bench {

bool is_measured_of_cluster(const Cell& cell);

std::string cluster_table(const Results& results);
std::string cluster_machine_line(const Results& results);

}  // namespace cuckooguard::bench
