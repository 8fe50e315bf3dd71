// What is known of the nodes of a Redis that is more than one server, for whoever shows it
// (guard::NodeView), and what the log is told when masters change or slots have moved.
//
// A failover is told at once. Slots that move are told once per kMovesEvery, all together.
//
// Threads: follow() and show() on one, be_heard() and be_silent() on one, nodes() on any; none
// waits for more than the copy of a pointer. Lifetimes: the log and what `heard` uses outlive it.
// Limits: NodeView::kShownMax.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/node_table.h"
#include "cluster/map.h"
#include "config/address.h"
#include "guard/nodes.h"
#include "io/clock.h"
#include "log/event_log.h"

namespace cuckooguard::app {

class NodeBoard final : public guard::NodeView {
 public:
  static constexpr std::chrono::seconds kMovesEvery{10};

  // Of an endpoint's control connection.
  struct Heard {
    guard::NodeState state = guard::NodeState::never;
    std::optional<std::chrono::nanoseconds> round_trip{};
    redis::ControlReport control{};
  };
  using HeardOf = std::function<Heard(std::size_t endpoint)>;  // any thread
  // Of the guard.
  struct Port {
    std::size_t endpoint;
    std::uint16_t port;
  };
  // By which nodes can be reached.
  struct Ports {
    std::span<const Port> of_nodes;  // in the order of NodeTable
    std::optional<config::Address> master{};
    std::optional<Port> of_master{};  // whoever that is
    std::size_t without = 0;          // nodes of which clients are told, that have none
  };

  NodeBoard(HeardOf heard, log::EventLog& log);

  // What the nodes are now, each time.
  void follow(const cluster::Map& map, io::TimePoint now);
  // Where they can be reached by now.
  void show(const cluster::Map& map, const NodeTable& table, const Ports& ports);
  // They have told; none of them does, until they have.
  void be_heard();
  void be_silent(const std::string& why);

  guard::NodesStatus nodes() const override;

 private:
  struct Place {
    guard::NodeStatus node;
    std::optional<std::size_t> endpoint;
  };

  HeardOf heard_;
  log::EventLog& log_;
  std::optional<cluster::Map> told_;  // to the log
  io::TimePoint moves_told_at_{};
  mutable std::mutex mutex_;  // for what follows
  std::shared_ptr<const std::vector<Place>> places_ = std::make_shared<const std::vector<Place>>();
  std::size_t without_port_ = 0;
  io::TimePoint told_at_ = io::now_since_boot();
  std::string why_silent_;
};

}  // namespace cuckooguard::app
