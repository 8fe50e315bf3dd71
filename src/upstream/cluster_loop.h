// A worker's loop whose connects lead to a whole cluster as if it were one Redis: what app/ needs
// of routing/, which the program may be built without.
//
// Threads: its worker's. Lifetimes: `loop` and `settings` outlive it. Errors: as io::Loop.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "cluster/map.h"
#include "config/config.h"
#include "io/loop.h"
#include "upstream/upstreams.h"

namespace cuckooguard::upstream {

class ClusterLoop : public io::Loop {
 public:
  struct Parts {
    io::Loop& loop;
    const config::Upstream& settings;
    config::UpstreamMode mode;       // whether clients share connections to its nodes
    std::function<void()> on_doubt;  // the cluster is not as the map says, or a node is gone
    SharedUpstream::OnLoss on_loss;  // these as in Upstreams
    std::function<std::uint64_t()> version;
  };
  using Make = std::unique_ptr<ClusterLoop> (*)(Parts parts);

  // The cluster is like this now.
  virtual void set(std::shared_ptr<const cluster::Map> map) = 0;
};

}  // namespace cuckooguard::upstream
