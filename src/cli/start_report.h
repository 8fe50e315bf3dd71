// What a guard that has started says of itself: its version, what it guards, where it listens. A few lines, which are the last for
// as long as all is well.
//
// Threads: the main thread's, the reload's.
#pragma once

#include "cli/event_log.h"
#include "cli/generation.h"

namespace cuckooguard::cli {

void report_namespaces(EventLog& log, const Generation& generation);
void report_start(EventLog& log, const Generation& generation, unsigned workers);

}  // namespace cuckooguard::cli
