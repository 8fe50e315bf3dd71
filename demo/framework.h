// `./dev demo --framework`: the attack on an application that nobody has changed, made with a
// framework (Django) and its cache layer: without the guard, with one that says nil, and with one
// that says what the framework takes for a cached None. The application, and what it is asked, is
// integration/frameworks/django_redis/attack.py; the servers are the demo's.
//
// Threads: the main thread's. Errors: std::runtime_error; Interrupted.
#pragma once

#include "options.h"

namespace cuckooguard::demo {

// True: no existing key was hidden, and less than 1 % of the look-ups of absent keys asked the
// database.
bool run_framework(const Options& options);

}  // namespace cuckooguard::demo
