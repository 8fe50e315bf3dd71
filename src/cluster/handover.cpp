#include "cluster/handover.h"

#include <map>
#include <utility>

namespace cuckooguard::cluster {
namespace {

bool is_same(const Node* one, const Node* other) {
  return one == nullptr || other == nullptr ? one == other : one->id == other->id;
}

bool is_sound_master(const Node* node) {
  return node != nullptr && node->is_master && !node->is_failing;
}

using Pair = std::pair<const Node*, const Node*>;

std::map<Pair, std::size_t> moved_slots(const Map& before, const Map& after) {
  std::map<Pair, std::size_t> moved;
  for (std::uint16_t slot = 0; slot < kSlots; ++slot) {
    const Node* const from = before.owner_of(slot);
    const Node* const to = after.owner_of(slot);
    if (!is_same(from, to)) {
      ++moved[{from, to}];
    }
  }
  return moved;
}

}  // namespace

std::vector<Handover> handovers(const Map& before, const Map& after) {
  std::map<Pair, std::size_t> moved = moved_slots(before, after);
  std::vector<Handover> all;
  for (const Node& node : after.nodes()) {
    const Node* const was = before.find(node.id);
    const Node* const master =
        was != nullptr && !was->is_master ? before.find(was->master_id) : nullptr;
    if (!node.is_master || master == nullptr) {
      continue;
    }
    const auto known = moved.find({master, &node});
    if (known != moved.end()) {
      all.push_back({.from = master, .to = &node, .slots = known->second, .is_failover = true});
      moved.erase(known);
    } else if (master->slots.empty() && !is_sound_master(after.find(master->id))) {
      all.push_back({.from = master, .to = &node, .slots = 0, .is_failover = true});
    }
  }
  for (const auto& [pair, slots] : moved) {
    all.push_back({.from = pair.first, .to = pair.second, .slots = slots});
  }
  return all;
}

}  // namespace cuckooguard::cluster
