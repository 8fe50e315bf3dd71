// The read-only commands with keys that a server says it has: of its reply to COMMAND, whatever its release and modules.
#pragma once

#include <string>
#include <vector>

#include "harness/raw_client.h"

namespace cuckooguard::harness {

// As INFO commandstats names them: "get", "object|encoding". `client` speaks RESP2.
std::vector<std::string> read_only_commands_with_keys(RawClient& client);

}  // namespace cuckooguard::harness
