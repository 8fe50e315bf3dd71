#include "cluster/map.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>

#include "cluster/node_line.h"

namespace cuckooguard::cluster {
namespace {

std::optional<std::uint16_t> slot_in(std::string_view text) {
  const auto slot = text::number_of<std::uint16_t>(text);
  return slot && *slot < redis::kSlots ? slot : std::nullopt;
}

// "5461-10922", "7"; "[93-<-id]" and "[77->-id]" of a slot that moves.
bool take_slots(Node& node, std::string_view words) {
  while (!words.empty()) {
    std::string_view word = text::take_word(words);
    const bool is_moving = word.starts_with('[');
    word.remove_prefix(is_moving ? 1 : 0);
    const auto first = slot_in(text::take_word(word, '-'));
    if (!first) {
      return false;
    }
    if (is_moving) {
      if (!word.starts_with(">-") && !word.starts_with("<-")) {
        return false;
      }
      node.moving.push_back(*first);
      continue;
    }
    const auto last = word.empty() ? first : slot_in(word);
    if (!last || *last < *first) {
      return false;
    }
    node.slots.push_back({*first, *last});
  }
  return true;
}

std::uint16_t tls_port_in(std::string_view names) {
  while (!names.empty()) {
    std::string_view value = text::take_word(names, ',');
    if (text::take_word(value, '=') == "tls-port") {
      return text::number_of<std::uint16_t>(value).value_or(0);
    }
  }
  return 0;
}

std::optional<Node> node_in(const NodeLine& line, std::string_view asked_host) {
  const auto epoch = text::number_of<std::uint64_t>(line.config_epoch);
  Node node{.id = std::string(line.id),
            .host = std::string(line.endpoint.host),
            .port = line.endpoint.port,
            .tls_port = tls_port_in(line.more),
            .hostname = std::string(line.hostname.value_or("")),
            .is_master = line.has("master"),
            .master_id = std::string(line.master == "-" ? "" : line.master),
            .config_epoch = epoch.value_or(0),
            .is_failing = line.has("fail"),
            .is_reachable = false,
            .slots = {},
            .moving = {}};
  if (node.host.empty() && line.has("myself")) {
    node.host = asked_host;
  }
  node.is_reachable = !line.has("noaddr") && !node.host.empty() && node.port != 0;
  return epoch && take_slots(node, line.slots) ? std::optional(std::move(node)) : std::nullopt;
}

bool is_same(const Node* one, const Node* other) {
  return one == nullptr || other == nullptr ? one == other : one->id == other->id;
}

bool is_sound_master(const Node* node) {
  return node != nullptr && node->is_master && !node->is_failing;
}

using Pair = std::pair<const Node*, const Node*>;

std::map<Pair, std::size_t> moved_slots(const Map& before, const Map& after) {
  std::map<Pair, std::size_t> moved;
  for (std::uint16_t slot = 0; slot < redis::kSlots; ++slot) {
    const Node* const from = before.owner_of(slot);
    const Node* const to = after.owner_of(slot);
    if (!is_same(from, to)) {
      ++moved[{from, to}];
    }
  }
  return moved;
}

}  // namespace

std::expected<View, std::string> parse_nodes(std::string_view text, std::string_view asked_host) {
  if (text.size() > kNodesBytesMax) {
    return std::unexpected("CLUSTER NODES: more than " + std::to_string(kNodesBytesMax) + " bytes");
  }
  View view;
  for (std::size_t number = 1; !text.empty(); ++number) {
    std::string_view words = text::take_word(text, '\n');
    if (words.ends_with('\r')) {
      words.remove_suffix(1);
    }
    if (words.empty()) {
      continue;
    }
    const auto line = node_line_in(words);
    auto node = line ? node_in(*line, asked_host) : std::nullopt;
    if (!node) {
      return std::unexpected("CLUSTER NODES: line " + std::to_string(number) + " is not a node's");
    }
    if (line->has("handshake")) {
      continue;
    }
    if (view.nodes.size() == kNodesMax) {
      return std::unexpected("CLUSTER NODES: more than " + std::to_string(kNodesMax) + " nodes");
    }
    if (line->has("myself")) {
      view.myself = view.nodes.size();
    }
    view.nodes.push_back(std::move(*node));
  }
  if (!view.myself) {
    return std::unexpected("CLUSTER NODES: no node is flagged 'myself'");
  }
  return view;
}

bool is_state_ok(std::string_view cluster_info) {
  while (!cluster_info.empty()) {
    const std::string_view line = text::take_word(cluster_info, '\n');
    if (line == "cluster_state:ok\r" || line == "cluster_state:ok") {
      return true;
    }
  }
  return false;
}

std::size_t Map::place_of(std::string_view id) const {
  const auto at = std::ranges::lower_bound(nodes_, id, {}, &Node::id);
  return at != nodes_.end() && at->id == id ? static_cast<std::size_t>(at - nodes_.begin())
                                            : std::size_t{kNobody};
}

const Node* Map::find(std::string_view id) const {
  const std::size_t place = place_of(id);
  return place != kNobody ? &nodes_[place] : nullptr;
}

const Node* Map::owner_of(std::uint16_t slot) const {
  return slot < redis::kSlots && owners_[slot] != kNobody ? &nodes_[owners_[slot]] : nullptr;
}

void Map::take_nodes(std::span<const View> views) {
  using Rank = std::tuple<bool, std::uint64_t, bool>;  // the highest is believed
  struct Told {
    Rank rank;
    const Node* node;
    bool is_failing;
  };
  std::map<std::string_view, Told> told;
  for (const View& view : views) {
    for (std::size_t i = 0; i < view.nodes.size(); ++i) {
      const Node& node = view.nodes[i];
      const Told now{
          {view.is_ok, node.config_epoch, i != view.myself}, &node, view.is_ok && node.is_failing};
      const auto [at, is_new] = told.try_emplace(node.id, now);
      Told& known = at->second;
      known.is_failing = known.is_failing || now.is_failing;
      if (!is_new && now.rank > known.rank) {
        known.rank = now.rank;
        known.node = &node;
      }
    }
  }
  for (const auto& [id, known] : told) {
    if (nodes_.size() == kNodesMax) {
      break;
    }
    nodes_.push_back(*known.node);
    nodes_.back().is_failing = known.is_failing;
    nodes_.back().slots.clear();
    nodes_.back().moving.clear();
  }
}

void Map::take_slots(std::span<const View> views) {
  std::vector<std::uint64_t> epochs(redis::kSlots, 0);
  for (const View& view : views) {
    for (const Node& node : view.nodes) {
      const std::size_t place = place_of(node.id);
      if (place != kNobody && view.is_ok) {
        claim(node, static_cast<std::uint16_t>(place), epochs);
      }
    }
  }
}

void Map::claim(const Node& node, std::uint16_t place, std::span<std::uint64_t> epochs) {
  for (const auto& [first, last] : node.slots) {
    for (std::uint32_t slot = first; slot <= last; ++slot) {
      if (owners_[slot] == kNobody || node.config_epoch > epochs[slot]) {
        owners_[slot] = place;
        epochs[slot] = node.config_epoch;
        moving_.reset(slot);
      } else if (node.config_epoch == epochs[slot] && owners_[slot] != place) {
        moving_.set(slot);
      }
    }
  }
}

void Map::take_moving(std::span<const View> views) {
  for (const View& view : views) {
    for (const Node& node : view.nodes) {
      const std::size_t place = place_of(node.id);
      if (place == kNobody) {
        continue;
      }
      for (const std::uint16_t slot : node.moving) {
        moving_.set(slot);
        nodes_[place].moving.push_back(slot);
      }
    }
  }
}

void Map::tell_nodes_their_slots() {
  for (std::uint16_t slot = 0; slot < redis::kSlots; ++slot) {
    if (owners_[slot] == kNobody) {
      continue;
    }
    std::vector<SlotRange>& slots = nodes_[owners_[slot]].slots;
    if (!slots.empty() && slots.back().last + 1 == slot) {
      slots.back().last = slot;
    } else {
      slots.push_back({slot, slot});
    }
  }
}

config::Address address_of(const Node& node) {
  return {.host = node.host, .port = node.port, .unix_path = {}, .tls_name = node.hostname};
}

redis::Slots served_slots(std::string_view nodes, std::string_view info, bool of_whole_cluster) {
  redis::Slots slots;
  const auto view = parse_nodes(nodes, {});
  const auto place = view ? view->myself : std::nullopt;
  if (!place || !is_state_ok(info)) {
    return slots;
  }
  const Node& myself = view->nodes[*place];
  const std::string& master =
      myself.is_master || myself.master_id.empty() ? myself.id : myself.master_id;
  for (const Node& node : view->nodes) {
    if (of_whole_cluster ? !node.is_reachable || node.is_failing : node.id != master) {
      continue;
    }
    for (const SlotRange& range : node.slots) {
      for (std::size_t slot = range.first; slot <= range.last; ++slot) {
        slots.set(slot);
      }
    }
  }
  for (const std::uint16_t slot : myself.moving) {
    slots.reset(slot);
  }
  return slots;
}

std::vector<View> without_strangers(std::vector<View> views) {
  const auto is_stranger = [&](const View& view) {
    bool has_others = false;
    for (const View& other : views) {
      if (&other == &view || !other.is_ok || !view.myself) {
        continue;
      }
      has_others = true;
      if (std::ranges::find(other.nodes, view.nodes[*view.myself].id, &Node::id) !=
          other.nodes.end()) {
        return false;
      }
    }
    return has_others;
  };
  std::vector<View> members;
  std::ranges::remove_copy_if(views, std::back_inserter(members), is_stranger);
  return members.empty() ? views : members;
}

Map merge(std::span<const View> views) {
  Map map;
  map.take_nodes(views);
  map.take_slots(views);
  map.take_moving(views);
  map.tell_nodes_their_slots();
  return map;
}

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
