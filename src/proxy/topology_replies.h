// Replies that tell a client where other nodes are: kept until they are whole, then relayed with
// the addresses of our listeners (cluster/topology_reply.h). They are CLUSTER SLOTS and its kin,
// ROLE, INFO and those of SENTINEL, which are expected, also within EXEC; -MOVED and -ASK, which
// may come in place of any reply; and what a Sentinel publishes. A node that is not known (yet)
// keeps its own address, and NodeAddresses hears of it.
//
// Threads: its worker's. Lifetimes: `nodes` outlives it.
// Limits: kReplyBytesMax of a reply, kErrorBytesMax of an error: what is longer is relayed as it
// is. kQueuedMax commands within one MULTI are remembered, kExpectedMax whose replies are to come:
// of more nothing is rewritten.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/topology_reply.h"
#include "io/output_queue.h"
#include "proxy/node_addresses.h"

namespace cuckooguard::proxy {

class TopologyReplies {
 public:
  static constexpr std::size_t kReplyBytesMax = std::size_t{4} * 1024 * 1024;
  static constexpr std::size_t kErrorBytesMax = 512;
  static constexpr std::size_t kQueuedMax = 16;
  static constexpr std::size_t kExpectedMax = 1024;

  // What one client is told.
  struct Client {
    const NodeAddresses& nodes;
    std::string host;  // where it has reached the guard; no brackets
  };

  explicit TopologyReplies(Client client) : client_(std::move(client)) {}

  // The reply of this number, among the client's, will be one; or, if it is +QUEUED, an element of
  // EXEC's.
  void expect(std::uint64_t reply, cluster::TopologyReply kind);
  // MULTI and EXEC, whose replies these will be; DISCARD and RESET as EXEC.
  void expect_multi(std::uint64_t reply);
  // What Redis refuses within MULTI, which goes on without it: WATCH, and MULTI once more.
  void expect_refusal();
  void expect_end_of_multi(std::uint64_t reply);
  bool is_expecting() const { return !expected_.empty(); }

  // The reply of this number begins like this: whether its pieces go to take(), and then end().
  bool begin(std::uint64_t reply, char first);
  // The same of what may be a pub/sub frame, which is nobody's reply, or a confirmation.
  bool begin_frame();
  void take(std::string_view piece, io::OutputQueue& output);
  void end(io::OutputQueue& output);
  // What is kept of it, or room for that.
  std::size_t bytes() const {
    return kept_.capacity() > kErrorBytesMax ? kept_.capacity() : kept_.size();
  }

 private:
  struct Expected {
    std::uint64_t reply;
    cluster::TopologyReply kind;            // none: EXEC's
    std::vector<cluster::Nested> nested{};  // of EXEC's
  };

  cluster::Rewritten rewritten() const;
  void forget();

  Client client_;
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

}  // namespace cuckooguard::proxy
