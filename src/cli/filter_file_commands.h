// `cuckooguard filter inspect|query`: what a filter file says, for an operator who asks "is this key in it?".
//
// Threads: the main thread's; files are only read. Errors: a sentence; nothing is printed here.
#pragma once

#include <expected>
#include <string>

#include "cli/options.h"

namespace cuckooguard::cli {

// One `name: value` per line. All checksums have been verified; the secret is not needed.
std::expected<std::string, std::string> inspect_filter(const InspectFilter& options);

// One line per key: what the file says of it (`absent`, `may exist`, or `unguarded`: no key of the template), and the
// key.
std::expected<std::string, std::string> query_filter(const QueryFilter& options);

}  // namespace cuckooguard::cli
