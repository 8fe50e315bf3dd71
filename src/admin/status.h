// The page /status: what GUARD.INFO tells, and a little more, as JSON for people and programs.
//
//   {"version", "uptime_seconds", "workers": [{"clients"}],
//    "configuration": {"loaded_at", "last_reload_successful", "errors": [line], "needs_restart": [setting]},   since 1970
//    "redis": {"up", "role", "state"},                            up: null without namespaces, or before it was tried
//    "namespaces": {NAME: {"mode", "db", "state", "fresh", "source", "proven_seconds_ago", "tables", "rows", "capacity", "load",
//                          "expected_false_positive_rate", "bytes", "keys": {VERDICT: count}, "keys_learned", "keys_added"}},
//    "sources": {NAME: {"type", "state", "why", "position", "proven_seconds_ago", "losses"}}}
//
// null: not known. Names are stable; new ones may come. `why` is for people.
//
// Called by: Pages. Threads and lifetimes: as Sight. Errors: none.
#pragma once

#include <string>

#include "admin/sight.h"

namespace cuckooguard::admin {

std::string status_json(const Sight& sight);

}  // namespace cuckooguard::admin
