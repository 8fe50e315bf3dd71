// The nodes of a cluster, as one worker reaches them: what its clients share of each, and whether
// it answers.
//
// A node that hangs delays only the clients that need it: each node has connections of its own, and
// where any node will do (a command without keys) one that answers is chosen.
//
// Threads: its worker's. Lifetimes: a node lives as long as somebody has it. Limits: those of the
// cluster's map, and of maps before as long as anything of them is left.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <boost/core/noncopyable.hpp>

#include "config/config.h"
#include "io/loop.h"
#include "upstream/redis_client.h"
#include "upstream/route.h"
#include "upstream/upstreams.h"

namespace cuckooguard::routing {

// Callbacks about a node's users, as in upstream::Upstreams.
struct NodeUsers {
  upstream::SharedUpstream::OnLoss on_loss = [](const resp::ConnectionState&) {};
  std::function<std::uint64_t()> version = [] { return std::uint64_t{0}; };
};

class Node : boost::noncopyable {
 public:
  // When a node that owes replies has been silent for this long, commands that any node may answer
  // go to another one.
  static constexpr std::chrono::milliseconds kSilentFor{250};
  // The client that asked may have gone, and the reply with it.
  static constexpr std::chrono::seconds kSilenceCounts{5};
  static constexpr std::uint32_t kInFlightMax = 1024;  // of a client, on what it shares

  Node(io::Loop& loop, config::Upstream of_node, const NodeUsers& users)
      : settings(std::move(of_node)),
        upstreams(loop, settings, users.on_loss, users.version),
        route{.loop = loop,
              .upstreams = upstreams,
              .settings = settings,
              .in_flight_max = kInFlightMax} {}

  // Something that does not wait on the node.
  void is_asked(io::TimePoint now) {
    asked_at_ = asked_at_ == io::TimePoint{} ? now : asked_at_;
    asked_last_ = now;
  }
  void is_heard() { asked_at_ = {}; }
  bool is_silent(io::TimePoint now) const {
    return asked_at_ != io::TimePoint{} && now - asked_at_ > kSilentFor &&
           now - asked_last_ < kSilenceCounts;
  }

  config::Upstream settings;
  upstream::Upstreams upstreams;
  const upstream::Route::Worker route;

 private:
  io::TimePoint asked_at_{};  // since when a byte is awaited; the epoch: none is
  io::TimePoint asked_last_{};
};

class Nodes {
 public:
  // `settings`: all but the nodes' addresses, and but the mode.
  Nodes(io::Loop& loop,
        const config::Upstream& settings,
        config::UpstreamMode mode,
        NodeUsers users)
      : loop_(loop), settings_(settings), mode_(mode), users_(std::move(users)) {}

  std::shared_ptr<Node> at(const config::Address& address) {
    config::Upstream settings = upstream::settings_at(settings_, address);
    settings.mode = mode_;
    const auto known = find(address);
    if (known == nodes_.end()) {
      return nodes_.emplace_back(std::make_shared<Node>(loop_, std::move(settings), users_));
    }
    (*known)->settings = std::move(settings);  // a reload may have changed some
    return *known;
  }
  bool is_silent(const config::Address& address) const {
    const auto known = find(address);
    return known != nodes_.end() && (*known)->is_silent(loop_.now());
  }
  // Others are forgotten as soon as nobody has them.
  void keep(std::span<const config::Address> of_map) {
    std::erase_if(nodes_, [&](const std::shared_ptr<Node>& node) {
      return node.use_count() == 1 && node->upstreams.is_unused() &&
             std::ranges::find(of_map, node->settings.address) == of_map.end();
    });
  }

 private:
  std::vector<std::shared_ptr<Node>>::const_iterator find(const config::Address& address) const {
    return std::ranges::find(
        nodes_, address, [](const auto& node) -> auto& { return node->settings.address; });
  }

  io::Loop& loop_;
  const config::Upstream& settings_;
  config::UpstreamMode mode_;
  NodeUsers users_;
  std::vector<std::shared_ptr<Node>> nodes_;
};

}  // namespace cuckooguard::routing
