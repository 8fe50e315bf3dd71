#include "own_cluster.h"

#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "harness/deadline.h"

namespace cuckooguard::demo {

std::vector<Change> OwnCluster::changes() {
  return {{fmt::format("{} slots move to another node", kMovedSlots), [this] { move_slots(); }},
          {"a master is killed", [this] { kill_a_master(); }}};
}

void OwnCluster::move_slots() {
  const std::size_t to = slots_at_ == 0 ? 2 : 0;
  for (std::uint16_t slot = 0; slot < kMovedSlots; ++slot) {
    cluster_.move_slot(slot, slots_at_, to);
  }
  slots_at_ = to;
}

// Until its replica has taken over, and it is the replica's replica.
void OwnCluster::kill_a_master() {
  cluster_.kill(master_);
  if (!harness::eventually([this] { return cluster_.is_master(replica_); })) {
    throw std::runtime_error("no replica takes over");
  }
  cluster_.start_again(master_);
  if (!harness::eventually([this] { return !cluster_.is_master(master_); })) {
    throw std::runtime_error("the node that was killed does not become a replica");
  }
  cluster_.wait_until_ok();
  std::swap(master_, replica_);
}

}  // namespace cuckooguard::demo
