// How long a random test runs: CUCKOOGUARD_ROUNDS, for soak runs.
#pragma once

#include <cstdlib>

namespace cuckooguard::harness {

inline unsigned rounds_of_this_run(unsigned otherwise) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment
  const char* const wanted = std::getenv("CUCKOOGUARD_ROUNDS");
  const unsigned long rounds = wanted == nullptr ? 0 : std::strtoul(wanted, nullptr, 10);
  return rounds == 0 ? otherwise : static_cast<unsigned>(rounds);
}

}  // namespace cuckooguard::harness
