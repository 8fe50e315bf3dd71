// Something to look at on the guard's page: look-ups that come and go until the user has seen
// enough.
//
// Threads: the caller's, one look-up after the other. Errors: std::runtime_error.
#pragma once

#include <cstdint>
#include <stop_token>

#include "endpoint.h"
#include "users_database.h"

namespace cuckooguard::demo {

// Each wave is an attack that grows and ebbs away over the application's own look-ups, with a new
// row now and then, and with keys that are no namespace's. Returns when it is interrupted, or asked
// to stop.
void run_live_load(const UsersDatabase& database,
                   const Endpoint& guard,
                   std::uint64_t users,
                   const std::stop_token& stop = {});

}  // namespace cuckooguard::demo
