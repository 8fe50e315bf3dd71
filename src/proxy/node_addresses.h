// Where the clients of one endpoint reach the nodes of its cluster, or its master, replicas and
// Sentinels. Updates replace the whole; what get() has returned stays as it was.
//
// Threads: any. Errors: none.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "cluster/addresses.h"

namespace cuckooguard::proxy {

class NodeAddresses {
 public:
  struct Known {
    cluster::Addresses addresses;
    std::string host_of_this_node;  // as the cluster calls the node that this endpoint leads to
    std::uint16_t master = 0;       // port of the listener for the current master, or 0
  };
  struct Endpoint {
    bool has_tls = false;      // clients speak TLS there
    bool is_sentinel = false;  // its messages name nodes, too
  };

  // `on_unknown`: a reply names an unknown node; any thread, every time.
  NodeAddresses(Endpoint endpoint, std::function<void()> on_unknown)
      : endpoint_(endpoint), on_unknown_(std::move(on_unknown)) {}
  NodeAddresses(const NodeAddresses&) = delete;
  NodeAddresses& operator=(const NodeAddresses&) = delete;
  ~NodeAddresses() = default;

  // Never null.
  std::shared_ptr<const Known> get() const {
    const std::lock_guard lock(mutex_);
    return known_;
  }
  void set(Known known) {
    auto next = std::make_shared<const Known>(std::move(known));
    const std::lock_guard lock(mutex_);
    std::swap(known_, next);
  }
  void miss() const { on_unknown_(); }
  const Endpoint& endpoint() const { return endpoint_; }

 private:
  Endpoint endpoint_;
  std::function<void()> on_unknown_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Known> known_ = std::make_shared<const Known>();
};

}  // namespace cuckooguard::proxy
