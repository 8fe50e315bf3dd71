// Hashes of items that are not, for tests of filled filters.
#pragma once

#include <cstdint>

namespace cuckooguard::filled::testing {

// splitmix64: well spread, and none twice.
inline std::uint64_t hash_of(std::uint64_t item) {
  std::uint64_t z = (item + 1) * 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31U);
}

}  // namespace cuckooguard::filled::testing
