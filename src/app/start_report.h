// What a guard that has started says of itself: its version, what it guards, where it listens. A
// few lines, which are the last for as long as all is well.
//
// Threads: the main thread's, the reload's.
#pragma once

#include "app/generation.h"
#include "log/event_log.h"

namespace cuckooguard::app {

void report_namespaces(log::EventLog& log, const Generation& generation);
void report_start(log::EventLog& log, const Generation& generation, unsigned workers);

}  // namespace cuckooguard::app
