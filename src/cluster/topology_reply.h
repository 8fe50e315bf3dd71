// The few replies in which Redis gives addresses of servers: a cluster those of its nodes (CLUSTER
// SLOTS, SHARDS, NODES, REPLICAS, and -MOVED and -ASK), a Sentinel those of the servers that it
// watches and of other Sentinels (SENTINEL GET-MASTER-ADDR-BY-NAME, MASTER, MASTERS, REPLICAS,
// SENTINELS, what it publishes, INFO), and any Redis those of its master and replicas (ROLE, INFO).
// The addresses in them are replaced by those of our listeners; every other byte stays.
//
// A node is known by its id, else by its address. What is replaced:
//   host      by our host: also metadata's ip and hostname in SLOTS, hostname in SHARDS and NODES.
//             These are not left out, so that a client that looks for one finds one that works. A
//             host that Redis leaves open, null or empty, stays open: the client goes to the host
//             that it has reached, which is the guard's, and only the client knows that one. "?",
//             which is no reachable host, is replaced.
//   port      by the listener's. A listener is either for TLS or not: of `port` and `tls-port` in
//             SHARDS one is left, as of a Redis that listens for only one of them. Where a reply
//             says that a node is the master, and the node has no listener of its own, by the port
//             of the listener for whichever node is master.
//   bus port  stays: clients have no use for it.
//   name      of a replica, which is its address, in Sentinel's replies and messages: by both.
// The address of an unknown node stays as it is, and is counted: the caller, once it has learned of
// that node, rewrites the reply again. A node without an address, or an unknown one in handshake,
// which nobody will ever know by its current id, also stays, and is not counted.
//
// Not seen: addresses that a script, or CLUSTER NODES within one, puts into its own reply.
//
// Threads: any.
// Errors: values. What is not understood stays as it is, byte for byte; in NODES, REPLICAS and INFO
//   that is a line, in SLOTS, SHARDS and of a Sentinel a node, or all of it.
// Limits: the whole reply is given, whose size the caller bounds; it is read once, depth is the
//   format's, no recursion. Our host has no control characters, spaces or commas.
// Source: Redis 7.0.15 cluster.c (clusterReplyMultiBulkSlots, clusterReplyShards,
//   clusterGenNodesDescription, clusterRedirectClient), sentinel.c (addReplySentinelRedisInstance,
//   sentinelEvent), replication.c (roleCommand), server.c (genRedisInfoString); recorded replies in
//   tests/cluster/recorded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "cluster/addresses.h"

namespace cuckooguard::cluster {

enum class TopologyReply : std::uint8_t {
  none,
  slots,
  shards,
  nodes,
  replicas,
  master_address,  // of a Sentinel
  instance,        // its MASTER
  instances,       // its MASTERS, REPLICAS, SENTINELS
  message,         // its pub/sub frames, of any kind
  role,
  info,
  exec,  // what its elements are says `nested`
};

// The kind of a command's reply; `none` for most. Never `message` or `exec`.
TopologyReply topology_reply(std::span<const std::string_view> arguments);

enum class Redirect : std::uint8_t { none, moved, ask };

// Looks at a reply, or at its beginning: "-MOVED ", "-ASK ".
Redirect redirect_in(std::string_view reply);

// A whole line: "-MOVED 3999 127.0.0.1:6381\r\n".
struct NamedNode {
  bool asks = false;  // for this command alone
  std::uint16_t slot = 0;
  std::string_view host;  // may be open: the host of the node that has sent the line
  std::uint16_t port = 0;
};
std::optional<NamedNode> named_node_in(std::string_view error);

struct ClientView {
  std::string_view host;               // where this client reaches the guard: no brackets
  std::string_view host_of_this_node;  // as the cluster calls the node that replies
  bool has_tls = false;                // clients speak TLS to our listeners
  std::uint16_t master = 0;            // of the listener for the current master; 0: none
};

struct Rewritten {
  std::string reply;
  // How often each is in the reply.
  std::size_t replaced = 0;   // nodes whose address was
  std::size_t unknown = 0;    // nodes that are not in the Addresses
  std::size_t direct = 0;     // nodes that are there without a listener
  bool is_malformed = false;  // some of it was not understood
};

// An element of EXEC's reply that is the reply of such a command.
struct Nested {
  std::size_t index = 0;  // of the array
  TopologyReply kind = TopologyReply::none;
};

// `reply` is one whole reply. Of errors -MOVED and -ASK are rewritten, whatever the kind; others,
// nulls and +QUEUED are as they were. `nested`, by index, is of EXEC's; redirects are rewritten
// wherever they are among its elements.
Rewritten rewrite(TopologyReply kind,
                  std::string_view reply,
                  const Addresses& addresses,
                  const ClientView& client,
                  std::span<const Nested> nested = {});

}  // namespace cuckooguard::cluster
