// Who is on the same connections to Redis as the checked clients.
//
// Threads: one each, until the world is over. Errors: a mismatch of the world.
#pragma once

#include <cstddef>
#include <cstdint>

#include "soak/soak_world.h"

namespace cuckooguard::soak {

// Pipelines without a pause: there are always commands in flight on the shared connections. It
// knows what it must be told: nobody else writes its keys.
void load(SoakWorld& world, std::size_t number, std::uint32_t seed);

// Connects, asks for much, in any state, and goes before it has been told: at any byte.
void leave_again_and_again(SoakWorld& world, std::size_t number, std::uint32_t seed);

}  // namespace cuckooguard::soak
