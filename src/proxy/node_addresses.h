// Where the clients of one endpoint reach the nodes of its cluster. What is known of the cluster
// changes; what has been got stays as it was.
//
// Threads: any. Errors: none.
#pragma once

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
  };

  // `has_tls`: clients speak TLS there. `on_unknown`: a reply has told of a node that is not known;
  // any thread, as often as it happens.
  NodeAddresses(bool has_tls, std::function<void()> on_unknown)
      : has_tls_(has_tls), on_unknown_(std::move(on_unknown)) {}
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
  bool has_tls() const { return has_tls_; }

 private:
  bool has_tls_;
  std::function<void()> on_unknown_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Known> known_ = std::make_shared<const Known>();
};

}  // namespace cuckooguard::proxy
