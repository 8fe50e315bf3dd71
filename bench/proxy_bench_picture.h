// The results as bars: throughput to Redis without a proxy, for hits and absent keys at each
// pipeline.
//
// Threads: any; no I/O.
#pragma once

#include <string>

#include "proxy_bench_results.h"

namespace cuckooguard::bench {

// SVG, for a light or a dark page. Cells that were not measured are left out, a bar's line goes
// from the least to the largest ratio of its rounds.
std::string picture(const Results& results);

}  // namespace cuckooguard::bench
