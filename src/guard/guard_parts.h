// What a Guard is built from; shared by all workers but for what is said to be one's own.
//
// Threads: plain values. Lifetimes: what it refers to outlives the guards that have it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "guard/absent_reply_bytes.h"
#include "guard/guarded_namespace.h"
#include "guard/learner.h"
#include "keyspace/keyspace.h"
#include "redis/facts.h"

namespace cuckooguard::guard {

class Filled;
struct Process;

struct GuardParts {
  const keyspace::Keyspace& keyspace;
  std::span<const GuardedNamespace> namespaces;  // in the keyspace's order
  redis::Facts& facts;
  const Process* process = nullptr;       // null: nothing is known of it
  std::function<WallTime()> wall_time{};  // for absent replies that carry one; or empty
  std::size_t worker = 0;                 // whose counters are its own
  std::uint64_t numbering = 0;  // as long as it is the same, so are the namespaces' numbers
  // The worker's, which outlives all of its guards and their clients, and whose guards all have
  // these namespaces; null: one of its own. The shares of clients and users are of what one
  // learner has.
  Learner* learner = nullptr;
  Filled* filled = nullptr;  // null: applications fill none
};

}  // namespace cuckooguard::guard
