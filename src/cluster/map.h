// What a cluster consists of: its nodes, who owns which slot, and which slots are on their way.
//
// Each node reports its own view (`View`), and views may differ: a node that was cut off reports an
// old one. `merge` makes one `Map` of all of them.
//
// Threads: any; a Map that is shared does not change. Errors: texts, which name the line.
// Limits: kNodesMax nodes in a view and in a map, kNodesBytesMax of text. A map takes 34 KB and its
//   nodes.
// Source: https://redis.io/docs/latest/commands/cluster-nodes, cluster-info; Redis 4 to 8, Valkey.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "redis/slot.h"

namespace cuckooguard::cluster {

inline constexpr std::size_t kNodesMax = 1000;  // as many as Redis recommends at most
inline constexpr std::size_t kNodesBytesMax = std::size_t{1} << 20U;

struct SlotRange {
  std::uint16_t first = 0;
  std::uint16_t last = 0;  // belongs to it

  bool operator==(const SlotRange&) const = default;
};

struct Node {
  std::string id;
  std::string host;            // as the cluster calls it; empty if it does not know
  std::uint16_t port = 0;      // of connections like the one that was asked on, TLS or plain
  std::uint16_t tls_port = 0;  // 0: not told
  std::string hostname;        // cluster-announce-hostname; may be empty
  bool is_master = false;
  std::string master_id;  // of a replica
  std::uint64_t config_epoch = 0;
  bool is_failing = false;    // the cluster has agreed on it; not while one node suspects it
  bool is_reachable = false;  // it has an address
  std::vector<SlotRange> slots;
  std::vector<std::uint16_t> moving;  // to or from it; only what a node says of itself

  bool operator==(const Node&) const = default;
};

// Where the cluster says that it is, and for whom its certificate must be.
config::Address address_of(const Node& node);

// One node's view. Nodes in handshake are left out: their ids are not final yet.
struct View {
  std::vector<Node> nodes;
  std::optional<std::size_t> myself;  // of `nodes`
  bool is_ok = false;                 // is_state_ok(); `parse_nodes` cannot tell
};

// From the text of CLUSTER NODES. A node that has not met others does not know its own address:
// `asked_host` is where it was asked.
std::expected<View, std::string> parse_nodes(std::string_view text, std::string_view asked_host);

// Whether CLUSTER INFO has cluster_state:ok; a node that says otherwise may be cut off from the
// majority.
bool is_state_ok(std::string_view cluster_info);

// Of these replies to CLUSTER NODES and CLUSTER INFO: the slots that the node serves, a replica its
// master's; or those that any node of the whole cluster serves. Not those on their way; none if the
// node may be cut off.
redis::Slots served_slots(std::string_view nodes, std::string_view info, bool of_whole_cluster);

class Map {
 public:
  Map() { owners_.fill(kNobody); }

  std::span<const Node> nodes() const { return nodes_; }  // by id
  const Node* find(std::string_view id) const;
  // Null: nobody, as far as is known. Lifetimes: the map's.
  const Node* owner_of(std::uint16_t slot) const;
  // Its owner may have changed already, or its keys are in two places.
  bool is_moving(std::uint16_t slot) const { return slot < redis::kSlots && moving_[slot]; }

  bool operator==(const Map&) const = default;

 private:
  static constexpr std::uint16_t kNobody = 0xffff;

  friend Map merge(std::span<const View> views);

  std::size_t place_of(std::string_view id) const;
  void take_nodes(std::span<const View> views);
  void take_slots(std::span<const View> views);
  void claim(const Node& node, std::uint16_t place, std::span<std::uint64_t> epochs);
  void take_moving(std::span<const View> views);  // behind what was claimed
  void tell_nodes_their_slots();

  std::vector<Node> nodes_;
  std::array<std::uint16_t, redis::kSlots> owners_{};  // of nodes_
  std::bitset<redis::kSlots> moving_;
};

// A slot's owner is the node that claims it with the highest config epoch in a view whose state is
// ok. If two claim it with the same epoch, the slot is moving; so it is if any node reports that of
// itself. Of the views of a node, those whose state is ok count, of these those with its highest
// config epoch, and of these rather another node's view than its own: a node that has moved to
// another address is the last to learn of it. A node is failing if any view whose state is ok says
// so.
Map merge(std::span<const View> views);

// Without the views of nodes that no other view of state ok lists, as of one that was forgotten, or
// has become another cluster's: they speak of that. All of them, if each is such a one.
std::vector<View> without_strangers(std::vector<View> views);

// Slots, and roles as master, that have moved from one node to another between two maps, whose the
// nodes are: one for each pair of nodes, no more than there are slots and nodes.
struct Handover {
  const Node* from;  // of the map before; null: nobody had them
  const Node* to;    // of the one after; null: nobody has them
  std::size_t slots = 0;
  bool is_failover = false;  // a replica is master in place of its own; there may be no slots
};

// Failovers first.
std::vector<Handover> handovers(const Map& before, const Map& after);

}  // namespace cuckooguard::cluster
