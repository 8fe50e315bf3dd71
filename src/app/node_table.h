// Which endpoint leads to which node of a cluster. A node keeps its endpoint as long as the cluster
// knows it, and, while there are others, kKeptFor longer: clients remember the port, also over a
// restart of the guard (text() and restore()). Masters come first where endpoints are short.
//
// Threads: one. Errors: what restore() cannot read it leaves out.
// Limits: as many nodes as endpoints; of more unplaced() tells.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/map.h"
#include "config/address.h"
#include "io/clock.h"

namespace cuckooguard::app {

class NodeTable {
 public:
  static constexpr std::chrono::minutes kKeptFor{10};

  struct Change {
    std::size_t endpoint;
    std::optional<config::Address> node;  // nullopt: to none

    bool operator==(const Change&) const = default;
  };

  explicit NodeTable(std::size_t endpoints) : places_(endpoints) {}

  // What the cluster is like now; which endpoints lead elsewhere from now on.
  std::vector<Change> follow(const cluster::Map& map, io::TimePoint now);
  struct Node {
    std::string_view id;  // the table's until the next follow()
    config::Address address;
  };
  // nullopt: the endpoint leads nowhere.
  std::optional<Node> node_at(std::size_t endpoint) const;
  // By id; nullopt: none.
  std::optional<std::size_t> endpoint_of(std::string_view id) const;
  // How many nodes of the last map have none.
  std::size_t unplaced() const { return unplaced_; }

  // `endpoint id`, a line each.
  std::string text() const;
  void restore(std::string_view text, io::TimePoint now);

 private:
  struct Place {
    std::string id{};  // empty: free
    std::optional<config::Address> node{};
    io::TimePoint seen{};
  };

  std::vector<Place>::iterator place_for(const std::string& id, io::TimePoint now);

  std::vector<Place> places_;
  std::size_t unplaced_ = 0;
};

}  // namespace cuckooguard::app
