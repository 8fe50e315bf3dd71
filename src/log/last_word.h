// What the process says when it cannot go on: one line like those of the log (event_log.h), and it
// ends with exit code 1.
//
//   2026-11-22T16:53:24.123Z error event=out_of_memory why="an allocation failed; ..."
//
// An allocation that fails on a worker ends the process, not the one client: the worker may be in
// the middle of a command on a connection that others share, and nothing of one client's may reach
// another. Clients see a Redis that restarts, and filters are restored from their checkpoints. Code
// that can do without the memory catches std::bad_alloc before it comes here (a filter's load, an
// admin page). Any other uncaught exception is a mistake in the program: it is named, and the
// process aborts.
//
// Threads: whichever fails. Nothing is allocated for it, and no lock is taken.
// Limits: a reader of standard error gets one second to take the line; then the process ends with
// exit code 1 all the same.
#pragma once

#include "config/config.h"

namespace cuckooguard::log {

void prepare_last_word(config::LogFormat format);

}  // namespace cuckooguard::log
