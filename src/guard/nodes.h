// The servers of a Redis that is more than one, such as a cluster's nodes: what GUARD.INFO, /status
// and /metrics tell of each. Who finds out is in app/ (NodeBoard).
//
// Threads: any. Lifetimes: a NodeView outlives the guards. Errors: what is not known is left out.
// Limits: kShownMax nodes, those with a port of the guard first; all others are in numbers alone.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "redis/reading.h"

namespace cuckooguard::guard {

// `unknown`: nobody lists it any more, and its port is still kept for it.
enum class NodeRole : std::uint8_t { unknown, master, replica, failing };
inline constexpr std::array<std::string_view, 4> kNodeRoleNames{
    "unknown", "master", "replica", "failing"};
constexpr std::string_view name_of(NodeRole role) {
  return kNodeRoleNames.at(static_cast<std::size_t>(role));
}

// By the guard's own connection to it; `never`: it has not been tried, as without a port.
enum class NodeState : std::uint8_t { never, up, down };
constexpr std::string_view name_of(NodeState state) {
  constexpr std::array<std::string_view, 3> kNames{"never", "up", "down"};
  return kNames.at(static_cast<std::size_t>(state));
}

struct NodeStatus {
  std::string address{};   // host:port, printable
  std::uint16_t port = 0;  // of the guard; 0: none. No two nodes have both the same
  NodeRole role = NodeRole::unknown;
  std::size_t slots = 0;
  NodeState state = NodeState::never;
  std::optional<std::chrono::nanoseconds> round_trip{};  // as redis::Reading has it
  redis::ControlReport control{};
};

struct NodesStatus {
  std::vector<NodeStatus> shown{};
  std::size_t without_port = 0;                     // clients are sent to them directly
  std::chrono::steady_clock::time_point told_at{};  // what there is; before the first: the start
  std::string why_silent{};                         // empty: they tell

  // The worst of what Redis lets the guard ask.
  redis::ControlReport::State control() const;
};

class NodeView {
 public:
  static constexpr std::size_t kShownMax = config::kNodePortsMax;

  virtual NodesStatus nodes() const = 0;

 protected:
  ~NodeView() = default;
};

}  // namespace cuckooguard::guard
