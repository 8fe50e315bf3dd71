// The text of GUARD.INFO: facts (guard/fact_table.h) as `field:value` lines in sections, as Redis's
// INFO has them.
//
//   # Guard                 version, uptime, Redis as the guard knows it, whether it may be asked,
//                           reads of all workers
//   # Nodes                 of a cluster: how many have no port of the guard's, how long ago a node
//                           last told of it; node0:port=...,role=...,slots=...,state=...,
//                           latency_us=...,address=...
//   # Filters               those that applications fill, all together: how many, their limits, and
//                           how their log is followed
//   # Namespace users       mode, source, state, why all pass if they do, proof, filter, keys by
//                           verdict
//   # Source shop           type, state, position, proof, losses, log that is kept
//
// Fields are stable names; new ones may come. -1: not known. `why` is for people and ends its line.
// Threads: its worker's, between Epochs::Reader enter() and leave(); counters are of all workers,
// each read once, not all at one moment. Limits: some 1300 bytes per namespace and 200 per source,
// of at most keyspace::kNamespacesMax; 150 per node, of NodeView::kShownMax.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "guard/guard.h"

namespace cuckooguard::guard {

struct InfoQuestion {
  const Guard& guard;  // of this worker
  const redis::Snapshot& redis;
  TimePoint now;
  std::optional<std::uint32_t> ns{};  // this one and its source alone
};

std::string info_text(const InfoQuestion& question);

}  // namespace cuckooguard::guard
