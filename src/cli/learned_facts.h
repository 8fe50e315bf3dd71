// The control connection's words and the guard's: what the guard wants to know of Redis, and what
// it is told. Neither room knows the other.
//
// Threads: pure functions. Errors: none; what Redis lists in a form that the guard has no room for
// may have its keys anywhere.
#pragma once

#include <cstdint>

#include "config/config.h"
#include "redis/facts.h"
#include "upstream/facts.h"

namespace cuckooguard::cli {

upstream::Questions questions_for(const config::Config& config);

redis::ControlReport report_of(const upstream::NotAllowed& lack);

// `numbering`: of the namespaces in the questions (guard::Guard::Parts).
redis::Reading reading_of(const upstream::Facts& facts,
                          config::Acl acl,
                          std::uint64_t numbering = 0);

}  // namespace cuckooguard::cli
