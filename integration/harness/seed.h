// The seed of a random test: CUCKOOGUARD_SEED if it is set, so that a failure can be replayed.
#pragma once

#include <cstdint>

namespace cuckooguard::harness {

std::uint32_t seed_of_this_run();  // printed, too

}  // namespace cuckooguard::harness
