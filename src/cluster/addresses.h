// Where clients reach each node of a cluster: the port of the listener in front of it.
//
// Threads: made by one, then shared as a pointer to const. Lifetimes: keeps what it is told.
// Limits: as many nodes as are added; three times as many strings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "cluster/map.h"

namespace cuckooguard::cluster {

class Addresses {
 public:
  // Port 0: the node is known, and has no listener, since there are not enough ports. Where two
  // nodes have the same address, because one is gone and another has taken its place, the address
  // belongs to the one that is not failing, otherwise to the one with the higher config epoch. A
  // node is added once.
  void add(const Node& node, std::uint16_t listener);

  // Nothing: no such node is known (yet). 0 as above.
  std::optional<std::uint16_t> find_by_id(std::string_view id) const;
  // `host` is what a reply says, an IP address or a hostname. If it is empty or "?", the node is on
  // the host of the node that replied, otherwise it is the only one with that port. `port` is for
  // plain connections, or for TLS.
  std::optional<std::uint16_t> find_by_endpoint(std::string_view host,
                                                std::uint16_t port,
                                                std::string_view host_of_this_node) const;

  std::size_t size() const { return by_id_.size(); }

 private:
  struct At {
    std::tuple<bool, std::uint64_t> rank;
    std::uint16_t listener = 0;
  };

  std::unordered_map<std::string, std::uint16_t> by_id_;
  std::unordered_map<std::string, At> by_endpoint_;  // host:port
  // Nodes that are not failing; nothing where several have the port.
  std::unordered_map<std::uint16_t, std::optional<std::uint16_t>> by_port_;
};

}  // namespace cuckooguard::cluster
