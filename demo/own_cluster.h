// A cluster of six nodes, three masters and their replicas, and what happens to it while the demo
// runs.
//
// Threads: the main thread's. Lifetimes: the changes do not outlive it. Errors: std::runtime_error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "endpoint.h"
#include "harness/redis_cluster.h"
#include "load.h"

namespace cuckooguard::demo {

class OwnCluster {
 public:
  static constexpr std::uint16_t kMovedSlots = 500;

  Endpoint endpoint() const { return {.port = cluster_.port(0), .is_of_cluster = true}; }
  std::string address() const { return cluster_.address(0); }
  std::size_t size() const { return cluster_.size(); }

  // Each can be done again, and then begins with the cluster as it has become.
  std::vector<Change> changes();

 private:
  void move_slots();
  void kill_a_master();

  harness::RedisCluster cluster_;
  std::size_t slots_at_ = 0;  // the node that has those that move
  std::size_t master_ = 1;    // the one that is killed next
  std::size_t replica_ = 4;   // its replica
};

}  // namespace cuckooguard::demo
