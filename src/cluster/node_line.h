// A line of CLUSTER NODES, and the addresses in it, taken apart.
//
//     id host:port[@bus-port][,hostname[,name=value ...]] flags master ping pong epoch link
//     slots...
//
// Threads: any. Lifetimes: views into the text. Errors: nothing, for what is no such line.
// Source: https://redis.io/docs/latest/commands/cluster-nodes; Redis 7.0.15 cluster.c
//   (clusterGenNodeDescription). The names behind a hostname are in Redis 7.2's and Valkey's
//   nodes.conf, and in no reply so far.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "text/number.h"
#include "text/words.h"

namespace cuckooguard::cluster {

// An IPv6 address has no brackets: what follows the last colon is the port.
struct Endpoint {
  std::string_view host;  // may be open
  std::uint16_t port = 0;
};
// The cluster does not say which host.
constexpr bool is_open(std::string_view host) {
  return host.empty() || host == "?";
}
std::optional<Endpoint> endpoint_in(std::string_view text);

struct NodeLine {
  std::string_view id;
  std::string_view address;  // all that follows is in it
  Endpoint endpoint;
  std::string_view bus;                      // "@17001", or empty
  std::optional<std::string_view> hostname;  // which may be empty
  std::string_view more;                     // "name=value,name=value", or empty
  std::string_view flags;                    // with commas between them
  std::string_view master;                   // "-": has none
  std::string_view config_epoch;
  std::string_view slots;  // all the rest

  bool has(std::string_view flag) const;
};
std::optional<NodeLine> node_line_in(std::string_view line);

}  // namespace cuckooguard::cluster
