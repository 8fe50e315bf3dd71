#include "cluster/addresses.h"

#include <array>

#include "cluster/node_line.h"

namespace cuckooguard::cluster {
namespace {

std::string endpoint_of(std::string_view host, std::uint16_t port) {
  return std::string(host) + ':' + std::to_string(port);
}

}  // namespace

void Addresses::add(const Node& node, std::uint16_t listener) {
  by_id_.insert_or_assign(node.id, listener);
  for (const std::uint16_t port : {node.port, node.tls_port}) {
    if (port == 0 || node.is_failing) {
      continue;
    }
    const auto [known, is_new] = by_port_.try_emplace(port, listener);
    if (!is_new) {
      known->second.reset();
    }
  }
  const At at{{!node.is_failing, node.config_epoch}, listener};
  for (const std::string_view host : std::array<std::string_view, 2>{node.host, node.hostname}) {
    for (const std::uint16_t port : {node.port, node.tls_port}) {
      if (host.empty() || port == 0) {
        continue;
      }
      const auto [known, is_new] = by_endpoint_.try_emplace(endpoint_of(host, port), at);
      if (!is_new && at.rank > known->second.rank) {
        known->second = at;
      }
    }
  }
}

std::optional<std::uint16_t> Addresses::find_by_id(std::string_view id) const {
  const auto found = by_id_.find(std::string(id));
  return found != by_id_.end() ? std::optional(found->second) : std::nullopt;
}

std::optional<std::uint16_t> Addresses::find_by_endpoint(std::string_view host,
                                                         std::uint16_t port,
                                                         std::string_view host_of_this_node) const {
  const auto found = by_endpoint_.find(endpoint_of(is_open(host) ? host_of_this_node : host, port));
  if (found != by_endpoint_.end()) {
    return found->second.listener;
  }
  const auto only = by_port_.find(port);
  return is_open(host) && only != by_port_.end() ? only->second : std::nullopt;
}

}  // namespace cuckooguard::cluster
