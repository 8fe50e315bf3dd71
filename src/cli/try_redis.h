// Redis, asked once what the control connection will ask, of somebody who sets a guard up.
//
// Threads: one. Errors: they are the result. Limits: 2 s for the connect, and for each reply.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"

namespace cuckooguard::cli {

// What Redis does not let the guard do, and the remedy: an ACL SETUSER in a line of its own. Empty:
// nothing is missing.
std::vector<std::string> try_redis(const config::Upstream& redis);

}  // namespace cuckooguard::cli
