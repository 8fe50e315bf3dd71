// The replies of Redis Cluster and Sentinel that name servers, with the addresses of our listeners
// in their place (cluster/topology_reply.h). These are expected ones: CLUSTER SLOTS and its kin,
// ROLE, INFO, SENTINEL, also within EXEC; -MOVED and -ASK in place of any reply; and a Sentinel's
// messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/core/noncopyable.hpp>

#include "cluster/addresses.h"
#include "cluster/topology_reply.h"
#include "proxy/rewritten_replies.h"

namespace cuckooguard::topology {

// Where the clients of one endpoint reach the nodes of its cluster, or its master, replicas and
// Sentinels. Updates replace the whole; what get() has returned stays as it was.
//
// Threads: any. Errors: none.
class NodeAddresses : boost::noncopyable {
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

// Those to one client. An unknown node keeps its own address, and NodeAddresses is notified.
//
// Threads: its worker's. Lifetimes: `nodes` outlives it.
// Limits: longer replies than kReplyBytesMax, and errors than kErrorBytesMax, are relayed
// unchanged; so are those of more than kQueuedMax commands within a MULTI, or kExpectedMax in
// flight.
class TopologyReplies final : public proxy::RewrittenReplies {
 public:
  static constexpr std::size_t kReplyBytesMax = std::size_t{4} * 1024 * 1024;
  static constexpr std::size_t kErrorBytesMax = 512;
  static constexpr std::size_t kQueuedMax = 16;
  static constexpr std::size_t kExpectedMax = 1024;

  // `host`: where the client has reached the guard; no brackets.
  TopologyReplies(const NodeAddresses& nodes, std::string host)
      : nodes_(nodes), host_(std::move(host)) {}

  void expect(std::uint64_t reply, std::span<const std::string_view> command) override;
  // DISCARD and RESET end a MULTI as EXEC does. WATCH is refused within one, which goes on; so is a
  // nested MULTI.
  void expect(std::uint64_t reply, redis::ChangeKind change) override;
  bool begin(std::uint64_t reply, char first, bool may_be_frame) override;
  void take(std::string_view piece, io::OutputQueue& output) override;
  void end(io::OutputQueue& output) override;

 private:
  struct Expected {
    std::uint64_t reply;
    cluster::TopologyReply kind;
    std::vector<cluster::Nested> nested{};  // of EXEC's
  };

  void expect(Expected expected);
  void expect_end_of_multi(std::uint64_t reply);
  cluster::Rewritten rewritten() const;
  void forget();
  // Kept bytes, or the room for them.
  void count() { bytes_ = kept_.capacity() > kErrorBytesMax ? kept_.capacity() : kept_.size(); }

  const NodeAddresses& nodes_;
  std::string host_;
  std::deque<Expected> expected_;
  std::uint64_t multi_reply_ = 0;  // of the last one
  std::uint64_t multi_ = 0;        // its reply, and one for each refusal since; 0: there is none
  std::vector<cluster::Nested> queued_;  // since then
  std::string kept_;
  std::size_t most_ = 0;  // of the one at hand
  bool is_error_ = false;
  bool is_frame_ = false;
  bool is_too_long_ = false;
};

}  // namespace cuckooguard::topology
