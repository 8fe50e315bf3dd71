// What a guard that has started says of itself: its version, what it guards, where it listens. A few lines, which are the last for
// as long as all is well.
//
// Called by: Assembly, when the port is bound. Threads: the main thread's. Errors: none.
#pragma once

#include "cli/event_log.h"
#include "config/config.h"

namespace cuckooguard::cli {

void report_start(EventLog& log, const config::Config& config, unsigned workers);

}  // namespace cuckooguard::cli
