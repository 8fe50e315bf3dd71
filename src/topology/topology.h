// Redis Cluster and Sentinel, as the process has them (app/guests.h).
//
// The thread of a Watch reports what it knows; the main thread chooses which endpoint leads to
// which node (NodeTable), has the workers lead their clients there, and only then publishes it: in
// topology replies, to those who ask where a key is, and on the NodeBoard.
//
// Limits: config::kNodePortsMax + 2 endpoints. start() and each change of nodes wait for the
// storage directory, up to 200 ms.
#pragma once

#include <memory>

#include "app/guests.h"

namespace cuckooguard::topology {

std::unique_ptr<app::Topology> make_topology(const app::Topology::Environment& environment);

}  // namespace cuckooguard::topology
