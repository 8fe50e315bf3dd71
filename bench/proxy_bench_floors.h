// What the README promises of the guard as a proxy, beside what was measured.
//
// Threads: any; no I/O.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proxy_bench_results.h"

namespace cuckooguard::bench {

enum class Bound : std::uint8_t { at_least, at_most, above };

struct Floor {
  std::string what;
  double measured = 0;
  Bound bound = Bound::at_least;
  double limit = 0;

  bool is_met() const;
};

// Those for which there is a measurement; cells with kPromisedClients only.
std::vector<Floor> floors(const Results& results);

// bench-proxy: hit_p1=1.08 ...; a figure that was not measured is 0.
std::string machine_line(const Results& results);

}  // namespace cuckooguard::bench
