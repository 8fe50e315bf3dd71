// What the machine can do at best: the yardstick beside every look-up time.
#pragma once

#include <cstdint>

namespace cuckooguard::bench {

// CPU time of this thread, so that other programs on the machine count less.
double thread_seconds();

struct MemoryCost {
  double dependent_ns;  // one random cache line whose address comes from the one before
  double line_ns;       // one random cache line, prefetched 32 reads ahead
};

// In a block of this size, in 2 MiB pages like a filter's table.
MemoryCost measure_memory(std::uint64_t bytes);

}  // namespace cuckooguard::bench
