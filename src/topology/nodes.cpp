#include "topology/nodes.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include <fmt/format.h>

#include "text/ascii.h"
#include "text/number.h"
#include "text/printable.h"

namespace cuckooguard::topology {
namespace {

// Of what the cluster says, which may be anything.
std::string printable_address(const config::Address& address) {
  std::string text = address.text();
  const auto is_plain = [](char c) {
    return text::is_printable(c) && c != ' ' && c != ',' && c != '"';
  };
  return std::ranges::all_of(text, is_plain) ? text : text::printable(text);
}

std::string address_of(const cluster::Node* node) {
  return node == nullptr ? std::string("none") : printable_address(cluster::address_of(*node));
}

guard::NodeRole role_of(const cluster::Node* node) {
  using enum guard::NodeRole;
  return node == nullptr    ? unknown
         : node->is_failing ? failing
         : node->is_master  ? master
                            : replica;
}

std::size_t slots_of(const cluster::Node* node) {
  std::size_t slots = 0;
  for (const cluster::SlotRange& range :
       node != nullptr ? std::span(node->slots) : std::span<const cluster::SlotRange>()) {
    slots += range.last - range.first + std::size_t{1};
  }
  return slots;
}

bool has_any_slot(const cluster::Map& map) {
  return std::ranges::any_of(map.nodes(),
                             [](const cluster::Node& node) { return !node.slots.empty(); });
}

}  // namespace

std::vector<NodeTable::Change> NodeTable::follow(const cluster::Map& map, io::TimePoint now) {
  std::vector<Change> changes;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    Place& place = places_[i];
    if (place.id.empty() || map.find(place.id) != nullptr) {
      place.seen = now;
    } else if (now - place.seen > kKeptFor) {
      if (place.node) {
        changes.push_back({.endpoint = i, .node = std::nullopt});
      }
      place = {.seen = now};
    }
  }
  std::vector<const cluster::Node*> nodes;
  for (const cluster::Node& node : map.nodes()) {
    if (node.is_reachable) {
      nodes.push_back(&node);
    }
  }
  std::ranges::stable_partition(nodes, &cluster::Node::is_master);
  unplaced_ = 0;
  for (const cluster::Node* const node : nodes) {
    const auto place = place_for(node->id, now);
    if (place == places_.end()) {
      ++unplaced_;
      continue;
    }
    const config::Address address = cluster::address_of(*node);
    place->id = node->id;
    place->seen = now;
    if (place->node != address) {
      place->node = address;
      changes.push_back(
          {.endpoint = static_cast<std::size_t>(place - places_.begin()), .node = address});
    }
  }
  return changes;
}

// Its own, or a free one, or that of a node which is not there any more.
std::vector<NodeTable::Place>::iterator NodeTable::place_for(const std::string& id,
                                                             io::TimePoint now) {
  for (const std::string& wanted : {id, std::string()}) {
    const auto place = std::ranges::find(places_, wanted, &Place::id);
    if (place != places_.end()) {
      return place;
    }
  }
  const auto oldest = std::ranges::min_element(places_, {}, &Place::seen);
  return oldest == places_.end() || oldest->seen == now ? places_.end() : oldest;
}

std::optional<NodeTable::Node> NodeTable::node_at(std::size_t endpoint) const {
  const Place& place = places_.at(endpoint);
  return place.node ? std::optional(Node{.id = place.id, .address = *place.node}) : std::nullopt;
}

std::optional<std::size_t> NodeTable::endpoint_of(std::string_view id) const {
  const auto place = std::ranges::find(places_, id, &Place::id);
  return place == places_.end() || id.empty()
             ? std::nullopt
             : std::optional(static_cast<std::size_t>(place - places_.begin()));
}

std::string NodeTable::text() const {
  std::string text;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (!places_[i].id.empty()) {
      text += fmt::format("{} {}\n", i, places_[i].id);
    }
  }
  return text;
}

void NodeTable::restore(std::string_view text, io::TimePoint now) {
  for (const auto part : std::views::split(text, '\n')) {
    std::string_view id(part);
    const auto endpoint = text::take_number<std::size_t>(id);
    if (endpoint && *endpoint < places_.size() && id.size() > 1 && id.front() == ' ' &&
        places_[*endpoint].id.empty() && !endpoint_of(id.substr(1))) {
      places_[*endpoint] = {.id = std::string(id.substr(1)), .seen = now};
    }
  }
}

void NodeBoard::be_heard() {
  const std::lock_guard lock(mutex_);
  told_at_ = io::now_since_boot();
  why_silent_.clear();
}

// The first that is known is no change. While no node says cluster_state:ok nobody is known to have
// any slot: what it comes to is seen when one does.
void NodeBoard::follow(const cluster::Map& map, io::TimePoint now) {
  const bool has_slots = has_any_slot(map);
  if (!told_ || (has_slots && !has_any_slot(*told_))) {
    told_ = map;
  }
  if (map == *told_ || (!has_slots && has_any_slot(*told_))) {
    return;
  }
  const std::vector<cluster::Handover> all = cluster::handovers(*told_, map);
  const bool has_failed_over = std::ranges::any_of(all, &cluster::Handover::is_failover);
  if (!all.empty() && !has_failed_over && now - moves_told_at_ < kMovesEvery) {
    return;  // later, with what comes until then
  }
  for (const cluster::Handover& each : all) {
    const std::string from = address_of(each.from);
    const std::string to = address_of(each.to);
    if (each.is_failover) {
      log_.warning("failover", {{"from", from}, {"to", to}, {"slots", each.slots}});
    } else {
      log_.info("slots_moved", {{"from", from}, {"to", to}, {"slots", each.slots}});
    }
  }
  moves_told_at_ = all.empty() ? moves_told_at_ : now;
  told_ = map;
}

void NodeBoard::show(const cluster::Map& map, const NodeTable& table, const Ports& ports) {
  auto places = std::make_shared<std::vector<Place>>();
  const auto add =
      [&](const cluster::Node* node, std::string address, const std::optional<Port>& by) {
        guard::NodeStatus status{.address = std::move(address),
                                 .port = by ? by->port : std::uint16_t{0},
                                 .role = role_of(node),
                                 .slots = slots_of(node)};
        const bool is_new = std::ranges::none_of(*places, [&](const Place& each) {
          return each.node.address == status.address && each.node.port == status.port;
        });
        if (is_new && places->size() < kShownMax) {
          places->push_back({std::move(status), by ? std::optional(by->endpoint) : std::nullopt});
        }
      };
  for (std::size_t i = 0; i < ports.of_nodes.size(); ++i) {
    if (const auto node = table.node_at(i)) {
      add(map.find(node->id), printable_address(node->address), ports.of_nodes[i]);
    }
  }
  for (const cluster::Node& node : map.nodes()) {
    if (node.is_reachable && !table.endpoint_of(node.id)) {
      const bool is_master = ports.master == cluster::address_of(node);
      add(&node, address_of(&node), is_master ? ports.of_master : std::nullopt);
    }
  }
  const std::lock_guard lock(mutex_);
  places_ = std::move(places);
  without_port_ = ports.without;
}

void NodeBoard::be_silent(const std::string& why) {
  const std::lock_guard lock(mutex_);
  why_silent_ = why;
}

guard::NodesStatus NodeBoard::nodes() const {
  guard::NodesStatus status;
  std::shared_ptr<const std::vector<Place>> places;
  {
    const std::lock_guard lock(mutex_);
    status = {
        .shown = {}, .without_port = without_port_, .told_at = told_at_, .why_silent = why_silent_};
    places = places_;
  }
  for (const Place& place : *places) {
    guard::NodeStatus& node = status.shown.emplace_back(place.node);
    if (place.endpoint) {
      look_(*place.endpoint, node);
    }
  }
  return status;
}

}  // namespace cuckooguard::topology
