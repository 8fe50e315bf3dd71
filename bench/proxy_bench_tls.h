// What TLS costs: redis-benchmark --tls on Redis itself, on the guard and on HAProxy, and the first
// two without TLS beside them.
//
// The last line is for machines: throughput of the guard (shared, TLS with its clients) to that of
// Redis with TLS, for rows' keys and no row's, c = 50, pipelines of N; CPU of the guard per hit
// with TLS over that without, and over that of HAProxy with TLS; memory of an idle client.
//
// Threads: any; no I/O.
#pragma once

#include <string>

#include "proxy_bench_results.h"

namespace cuckooguard::bench {

bool is_measured_with_tls(const Cell& cell);

std::string tls_table(const Results& results);
std::string tls_machine_line(const Results& results);

}  // namespace cuckooguard::bench
