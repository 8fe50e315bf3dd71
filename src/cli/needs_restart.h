// What a configuration that is loaded anew cannot change while the process runs.
//
//   listen                     the port is bound once
//   upstream.address, .mode    clients are on connections to that Redis, in that mode
//   workers                    a client lives on its worker
//   admin.address              as listen
//   storage                    the folder is locked, its secret is in every filter, and sources write to it in their time
//   drain_timeout              see main
// All other settings are in force when the reload has ended. (A certificate of the listener or of the upstream, when there
// is TLS, can be changed: it belongs where Assembly::move_to gives each worker its settings.)
//
// Called by: Assembly. Threads: pure. Errors: none.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"

namespace cuckooguard::cli {

// The settings in which they differ, as paths in the file; `next` then has them as `running` does, so that it tells what
// is in force.
std::vector<std::string> keep_what_needs_a_restart(const config::Config& running,
                                                   config::Config& next);

}  // namespace cuckooguard::cli
