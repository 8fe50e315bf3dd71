// The keyspace of a configuration that has been read: its namespaces, in their order.
//
// Threads: any. Errors: std::logic_error if templates are ambiguous, which reading a configuration
// rules out.
#pragma once

#include "config/config.h"
#include "keyspace/keyspace.h"

namespace cuckooguard::app {

keyspace::Keyspace keyspace_of(const config::Config& config);

}  // namespace cuckooguard::app
