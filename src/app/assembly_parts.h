// What belongs to one worker, for the files of Assembly alone.
#pragma once

#include <cstddef>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "app/assembly.h"
#include "guard/command_families.h"
#include "io/loop.h"

namespace cuckooguard::app {

// The thread ends before what it works with.
struct Assembly::WorkerParts {
  WorkerParts(Assembly& all, std::size_t index)
      : number(index),
        reader(all.epochs_.reader(index)),
        worker({.begin = [this] { reader.enter(); }, .end = [this] { reader.leave(); }}) {
    all.tls_.encrypt_connects(worker.loop());
    for (std::size_t i = 0; i < all.endpoints_.size(); ++i) {
      endpoints.push_back(std::make_unique<Served>(all, *this, i));
    }
  }
  ~WorkerParts() { worker.stop_and_join(); }
  WorkerParts(const WorkerParts&) = delete;
  WorkerParts& operator=(const WorkerParts&) = delete;

  // What it does for one endpoint.
  struct Served {
    Served(Assembly& all, WorkerParts& parts, std::size_t endpoint)
        : settings(all.session_settings(all.config_, endpoint)),
          routed(all.endpoints_.leads_to_cluster(endpoint)
                     ? all.topology_->loop(
                           {.loop = parts.worker.loop(),
                            .settings = settings.upstream,
                            .on_loss = [this](const auto& told) { clients.on_upstream_loss(told); },
                            .version = [this] { return guard.parts().facts.withdrawals(); }})
                     : nullptr),
          guard(all.guarded(*all.generation_, parts.number, endpoint, parts.learner)),
          own_commands(
              guard,
              // Before whatever else begins with GUARD.
              all.guests_.traffic != nullptr ? all.guests_.traffic->commands(guard) : nullptr,
              guard::guard_commands(guard),
              guard::filter_commands(guard),
              all.filters_ && !all.endpoints_.leads_to_sentinel(endpoint)
                  ? all.filters_->commands(guard)
                  : nullptr),
          clients({.loop = routed ? *routed : parts.worker.loop(),
                   .guard = guard,
                   .own_commands = own_commands,
                   .settings = settings,
                   .total = all.client_count_}) {}

    // A reload leaves the address as it is: it needs a restart, or is a node's.
    void adopt(const guard::Guard::Parts& guarded, proxy::Session::Settings next) {
      guard.adopt(guarded);
      next.upstream.address = settings.upstream.address;
      settings = std::move(next);
      clients.on_limits_changed();
    }

    // To another node, or to none: who is there has been talking to the one before. Of a whole
    // cluster that is the one whose facts stand for all, and its loop leads to each by itself.
    void lead(const Endpoints::Change& change) {
      if (!routed) {
        settings.upstream.address = change.node.value_or(config::Address{});
        clients.on_upstream_changed(io::TimePoint::max(), change.keeps_subscribers);
      }
    }
    // Connections older than this lead to another server.
    void leave(io::TimePoint before) {
      if (!routed) {
        clients.on_upstream_changed(before, false);
      }
    }

    proxy::Session::Settings settings;  // the worker's own to read and, at a reload, to replace
    std::unique_ptr<io::Loop> routed;   // null: it does not lead to a whole cluster
    guard::Guard guard;
    guard::OwnCommands own_commands;
    proxy::Clients clients;
  };

  std::size_t clients() const {
    return std::accumulate(
        endpoints.begin(), endpoints.end(), std::size_t{0}, [](std::size_t sum, const auto& each) {
          return sum + each->clients.count();
        });
  }

  std::size_t number;
  filter::Epochs::Reader& reader;
  io::Worker worker;
  guard::Learner learner;  // of all that this worker's clients write, to whichever node
  std::vector<std::unique_ptr<Served>> endpoints;
};

}  // namespace cuckooguard::app
