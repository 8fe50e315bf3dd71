// A worker's loop whose connects lead to a whole cluster as if it were one Redis
// (routed_transport.h), whatever the address; everything else is the loop's own. Code written for
// one Redis thus works against a cluster.
//
// Threads: its worker's. Lifetimes: `loop` and `settings` outlive it, it outlives its transports.
// Errors: as io::Loop; while no master is known connects fail.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "cluster/map.h"
#include "config/config.h"
#include "io/loop.h"
#include "resp/arguments.h"
#include "routing/nodes.h"
#include "routing/routed_transport.h"
#include "routing/slot_routes.h"

namespace cuckooguard::routing {

class RoutedLoop final : public io::Loop {
 public:
  // `on_doubt`: the cluster is not as the map says, or a node is gone. `mode`: whether clients
  // share connections to its nodes.
  RoutedLoop(io::Loop& loop,
             const config::Upstream& settings,
             config::UpstreamMode mode,
             std::function<void()> on_doubt,
             NodeUsers users = {})
      : loop_(loop),
        settings_(settings),
        routes_(std::move(on_doubt)),
        nodes_(loop, settings, mode, std::move(users)) {}

  // The cluster is like this now: all masters have said so since `asked_at`.
  void set(std::shared_ptr<const cluster::Map> map, io::TimePoint asked_at) {
    routes_.set(std::move(map), asked_at);
    nodes_.keep(routes_.nodes());
  }

  io::TimePoint now() const override { return loop_.now(); }
  std::unique_ptr<io::Transport> connect(const config::Address& /*address*/,
                                         io::Watcher& watcher) override {
    return std::make_unique<RoutedTransport>(RoutedTransport::Worker{.loop = loop_,
                                                                     .settings = settings_,
                                                                     .routes = routes_,
                                                                     .nodes = nodes_,
                                                                     .arguments = arguments_},
                                             watcher);
  }
  void flush_at_batch_end(io::Flushable& flushable, io::FlushOrder order) override {
    loop_.flush_at_batch_end(flushable, order);
  }
  void dispose(std::unique_ptr<io::Disposable> disposable) override {
    loop_.dispose(std::move(disposable));
  }
  std::unique_ptr<io::Timer> after(std::chrono::milliseconds delay,
                                   std::function<void()> call) override {
    return loop_.after(delay, std::move(call));
  }
  void post(std::function<void()> call) override { loop_.post(std::move(call)); }
  std::span<char> read_buffer() override { return loop_.read_buffer(); }
  io::ChunkPool& chunks() override { return loop_.chunks(); }

 private:
  io::Loop& loop_;
  const config::Upstream& settings_;
  SlotRoutes routes_;
  Nodes nodes_;
  resp::Arguments arguments_;
};

}  // namespace cuckooguard::routing
