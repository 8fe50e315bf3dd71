#include "app/node_table.h"

#include <algorithm>
#include <charconv>
#include <ranges>

#include <fmt/format.h>

#include "upstream/cluster_watch.h"

namespace cuckooguard::app {

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
    const config::Address address = upstream::ClusterWatch::address_of(*node);
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
    const std::string_view line(part);
    std::size_t endpoint = 0;
    const auto [rest, error] = std::from_chars(line.data(), line.data() + line.size(), endpoint);
    const std::string_view id(rest, line.data() + line.size());
    if (error == std::errc() && endpoint < places_.size() && id.size() > 1 && id.front() == ' ' &&
        places_[endpoint].id.empty() && !endpoint_of(id.substr(1))) {
      places_[endpoint] = {.id = std::string(id.substr(1)), .seen = now};
    }
  }
}

}  // namespace cuckooguard::app
