// One MariaDB as the replica of another, by GTID.
//
// Threads: the caller's. Errors: std::runtime_error, as SqlSession.
#pragma once

#include "harness/mariadb_server.h"

namespace cuckooguard::harness {

// Empties `replica` (database and log), and lets it replicate all that `primary` has ever logged.
void replicate(const MariaDbServer& primary, const MariaDbServer& replica);

// Whether `replica` has applied all that `primary` has logged by now, within kPatience.
bool catches_up(const MariaDbServer& primary, const MariaDbServer& replica);

// From now on it is a primary of its own.
void promote(const MariaDbServer& replica);

}  // namespace cuckooguard::harness
