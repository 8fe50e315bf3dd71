// What a guard that has started says of itself: its version, what it guards, where it listens. A few lines, which are the last for
// as long as all is well.
//
// Called by: Assembly, when the port is bound, and of the namespaces again after a reload. Threads: the main thread's, the reload's.
// Errors: none.
#pragma once

#include "cli/event_log.h"
#include "cli/generation.h"

namespace cuckooguard::cli {

void report_namespaces(EventLog& log, const Generation& generation);
void report_start(EventLog& log, const Generation& generation, unsigned workers);

}  // namespace cuckooguard::cli
