// Which slots, and which roles as master, have moved from one node to another between two maps.
//
// Threads: any. Lifetimes: nodes are those of the two maps. Limits: one for each pair of nodes, no
// more than there are slots and nodes.
#pragma once

#include <cstddef>
#include <vector>

#include "cluster/map.h"

namespace cuckooguard::cluster {

struct Handover {
  const Node* from;  // of the map before; null: nobody had them
  const Node* to;    // of the one after; null: nobody has them
  std::size_t slots = 0;
  bool is_failover = false;  // a replica is master in place of its own; there may be no slots
};

// Failovers first.
std::vector<Handover> handovers(const Map& before, const Map& after);

}  // namespace cuckooguard::cluster
