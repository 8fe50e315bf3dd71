// The nodes of a Redis with several servers: which port leads to each, and what is shown of them.
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
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/map.h"
#include "config/config.h"
#include "guard/process.h"
#include "io/clock.h"
#include "log/event_log.h"

namespace cuckooguard::topology {

// Which endpoint leads to which node of a cluster. A node keeps its endpoint while the cluster
// knows it, and kKeptFor longer unless others run out, since clients remember the port; also over a
// restart of the guard (text() and restore()). Masters come first if there are too few endpoints.
//
// Threads: one. Errors: restore() skips lines that it cannot read.
// Limits: as many nodes as endpoints; unplaced() counts the rest.
class NodeTable {
 public:
  static constexpr std::chrono::minutes kKeptFor{10};

  struct Change {
    std::size_t endpoint;
    std::optional<config::Address> node;  // nullopt: to none

    bool operator==(const Change&) const = default;
  };

  explicit NodeTable(std::size_t endpoints) : places_(endpoints) {}

  // The current map; returns the endpoints that lead elsewhere from now on.
  std::vector<Change> follow(const cluster::Map& map, io::TimePoint now);
  struct Node {
    std::string_view id;  // the table's until the next follow()
    config::Address address;
  };
  // nullopt: the endpoint leads nowhere.
  std::optional<Node> node_at(std::size_t endpoint) const;
  // By id; nullopt: none.
  std::optional<std::size_t> endpoint_of(std::string_view id) const;
  // How many nodes of the last map have no endpoint.
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

// The state of the nodes of a Redis with several servers, as it is shown (guard::NodeView), and log
// events for failovers and moved slots.
//
// Failovers are logged at once, moved slots once per kMovesEvery, all together.
//
// Threads: follow() and show() on one, be_heard() and be_silent() on one, nodes() on any; none
// waits for more than the copy of a pointer. Lifetimes: the log and what `look` uses outlive it.
// Limits: NodeView::kShownMax.
class NodeBoard final : public guard::NodeView {
 public:
  static constexpr std::chrono::seconds kMovesEvery{10};

  // Adds what an endpoint's control connection knows; any thread.
  using Look = std::function<void(std::size_t endpoint, guard::NodeStatus& node)>;
  // Of the guard.
  struct Port {
    std::size_t endpoint;
    std::uint16_t port;
  };
  // The ports by which nodes can be reached.
  struct Ports {
    std::span<const Port> of_nodes;  // in the order of NodeTable
    std::optional<config::Address> master{};
    std::optional<Port> of_master{};  // whichever node that is
    std::size_t without = 0;          // nodes in clients' topology replies that have no port
  };

  NodeBoard(Look look, log::EventLog& log) : look_(std::move(look)), log_(log) {}

  // On every new map.
  void follow(const cluster::Map& map, io::TimePoint now);
  // After the ports have changed.
  void show(const cluster::Map& map, const NodeTable& table, const Ports& ports);
  // The nodes have answered; none answers, until the next be_heard().
  void be_heard();
  void be_silent(const std::string& why);

  guard::NodesStatus nodes() const override;

 private:
  struct Place {
    guard::NodeStatus node;
    std::optional<std::size_t> endpoint;
  };

  Look look_;
  log::EventLog& log_;
  std::optional<cluster::Map> told_;  // to the log
  io::TimePoint moves_told_at_{};
  mutable std::mutex mutex_;  // for what follows
  std::shared_ptr<const std::vector<Place>> places_ = std::make_shared<const std::vector<Place>>();
  std::size_t without_port_ = 0;
  io::TimePoint told_at_ = io::now_since_boot();
  std::string why_silent_;
};

}  // namespace cuckooguard::topology
