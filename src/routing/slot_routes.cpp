#include "routing/slot_routes.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "cluster/node_line.h"
#include "redis/slot.h"
#include "routing/scan_cursor.h"

namespace cuckooguard::routing {
namespace {

// FNV-1a: the same on any machine.
class Hash {
 public:
  void add(std::string_view bytes) {
    for (const char byte : bytes) {
      hash_ = (hash_ ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
    }
  }
  void add(std::uint64_t number) { add(std::to_string(number) + ","); }
  std::uint64_t folded() const { return hash_ ^ hash_ >> 29U; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325U;
};

std::uint16_t tag_of(const cluster::Map& map) {
  Hash hash;
  for (const cluster::Node& node : map.nodes()) {
    if (node.slots.empty()) {
      continue;
    }
    hash.add(node.id);
    hash.add(node.config_epoch);
    for (const cluster::SlotRange& range : node.slots) {
      hash.add(range.first);
      hash.add(range.last);
    }
  }
  hash.add("moving");
  for (std::uint16_t slot = 0; slot < redis::kSlots; ++slot) {
    if (map.is_moving(slot)) {
      hash.add(slot);
    }
  }
  return static_cast<std::uint16_t>(1 + hash.folded() % ScanCursor::kTagMax);
}

}  // namespace

void SlotRoutes::set(std::shared_ptr<const cluster::Map> map, io::TimePoint asked_at) {
  const auto owns_slots = [](const cluster::Node& node) { return !node.slots.empty(); };
  const bool is_up = std::ranges::any_of(map->nodes(), owns_slots);
  if (!is_up && map_ && std::ranges::any_of(map_->nodes(), owns_slots)) {
    return;
  }
  map_ = std::move(map);
  asked_at_ = asked_at;
  nodes_.clear();
  masters_.clear();
  moved_.clear();
  tag_ = tag_of(*map_);
  has_moving_slots_ = false;
  for (std::uint16_t slot = 0; slot < redis::kSlots && !has_moving_slots_; ++slot) {
    has_moving_slots_ = map_->is_moving(slot);
  }
  has_one_master_ = std::ranges::count_if(map_->nodes(), &cluster::Node::is_master) == 1;
  lacks_a_master_ = false;
  for (const cluster::Node& node : map_->nodes()) {
    nodes_.push_back(cluster::address_of(node));
    if (node.is_master && (owns_slots(node) || !is_up) && node.is_reachable && !node.is_failing) {
      masters_.push_back(nodes_.back());
    } else {
      lacks_a_master_ = lacks_a_master_ || (node.is_master && owns_slots(node));
    }
  }
}

const config::Address* SlotRoutes::owner_of(std::uint16_t slot) const {
  if (!moved_.empty()) {
    const auto moved = moved_.find(slot);
    if (moved != moved_.end()) {
      return &nodes_[moved->second];
    }
  }
  const cluster::Node* const owner = map_ ? map_->owner_of(slot) : nullptr;
  if (owner == nullptr || !owner->is_reachable) {
    return nullptr;
  }
  return &nodes_[static_cast<std::size_t>(owner - map_->nodes().data())];
}

const config::Address* SlotRoutes::find(const cluster::NamedNode& named,
                                        const config::Address& replier) const {
  if (!map_) {
    return nullptr;
  }
  const std::string_view host = cluster::is_open(named.host) ? replier.host : named.host;
  const auto nodes = map_->nodes();
  const auto found = std::ranges::find_if(nodes, [&](const cluster::Node& node) {
    return (node.host == host || node.hostname == host) &&
           (node.port == named.port || node.tls_port == named.port) && node.is_reachable;
  });
  return found == nodes.end() ? nullptr : &nodes_[static_cast<std::size_t>(found - nodes.begin())];
}

bool SlotRoutes::is_unsettled(std::uint16_t slot, io::TimePoint now) const {
  if (map_ && map_->is_moving(slot)) {
    return true;
  }
  if (redirected_.empty()) {
    return false;
  }
  const auto redirected = redirected_.find(slot);
  return redirected != redirected_.end() && now - redirected->second < kUnsettledFor;
}

void SlotRoutes::moved(std::uint16_t slot, const config::Address& node) {
  const auto found = std::ranges::find(nodes_, node);
  if (found != nodes_.end()) {
    moved_[slot] = static_cast<std::size_t>(found - nodes_.begin());
  }
}

}  // namespace cuckooguard::routing
