// Replies that tell of a cluster's nodes: with our listeners' ports in place of the nodes', at
// every cut, and all others as they are.
#include "topology/topology_replies.h"

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proxy/reply_chain.h"

namespace cuckooguard::topology {
namespace {

using ::cuckooguard::testing::expect_same_at_every_split;
using ::cuckooguard::testing::Pieces;
using proxy::Chain;
using proxy::ReplyOrder;
using redis::ChangeKind;

constexpr std::array<std::string_view, 2> kClusterNodes{"CLUSTER", "NODES"};

std::string bulk(const std::string& text) {
  return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}
std::string nodes_reply(const std::string& port) {
  return bulk(std::string(40, 'a') + " 10.0.0.1:" + port +
              "@17001 myself,master - 0 0 1 connected 0-16383\n");
}
// What Redis says, and what the client is told.
const std::string kNodes = nodes_reply("6379");
const std::string kTold =
    bulk(std::string(40, 'a') + " guard:7000@17001 myself,master - 0 0 1 connected 0-16383\n");

class Topology {
 public:
  explicit Topology(NodeAddresses::Endpoint endpoint = {})
      : nodes_(endpoint, [this] { ++misses_; }) {
    cluster::Addresses addresses;
    addresses.add({.id = std::string(40, 'a'), .host = "10.0.0.1", .port = 6379}, 7000);
    nodes_.set({.addresses = std::move(addresses), .host_of_this_node = "10.0.0.1"});
  }

  std::string told(std::string_view from_redis, const std::function<void(ReplyOrder&)>& expect) {
    return expect_same_at_every_split(from_redis, [&](Pieces pieces) {
      Chain chain;
      chain.order.rewrite(std::make_unique<TopologyReplies>(nodes_, "guard"));
      expect(chain.order);
      const std::string text = chain.relay(pieces);
      compared_ = chain.compared;
      errors_ = chain.errors;
      return text;
    });
  }
  const std::vector<std::string>& compared() const { return compared_; }
  const std::vector<std::string>& errors() const { return errors_; }
  int misses() const { return misses_; }

 private:
  int misses_ = 0;
  NodeAddresses nodes_;
  std::vector<std::string> compared_;
  std::vector<std::string> errors_;
};

void change(ReplyOrder& order, ChangeKind kind) {
  order.expect_observed_reply({.kind = kind});
}

TEST(TopologyRepliesTest, one_that_was_asked_for_is_rewritten_in_its_place) {
  Topology topology;
  EXPECT_EQ(topology.told(kNodes + kNodes + kNodes,
                          [](ReplyOrder& order) {
                            order.expect_reply();
                            order.expect_reply_to(kClusterNodes);
                            order.answer("+here\r\n");
                            order.expect_reply();
                          }),
            kNodes + kTold + "+here\r\n" + kNodes)
      << "the others have a value that looks like it";
  EXPECT_EQ(topology.misses(), 0);
}

TEST(TopologyRepliesTest, redirects_are_rewritten_whatever_was_asked_for) {
  Topology topology;
  const std::string moved = "-MOVED 1 10.0.0.1:6379\r\n";
  EXPECT_EQ(topology.told(moved + "-ASK 2 :6379\r\n" + "-ERR 10.0.0.1:6379\r\n" + moved + moved,
                          [](ReplyOrder& order) {
                            order.expect_reply();
                            order.expect_reply();
                            order.expect_reply();
                            order.expect_absent_key_reply({.key = "k", .kept_bytes = 5});
                            order.expect_merged_reply(
                                std::vector<std::optional<std::string_view>>{"$-1\r\n", {}, {}});
                          }),
            "-MOVED 1 guard:7000\r\n-ASK 2 :7000\r\n-ERR 10.0.0.1:6379\r\n"
            "-MOVED 1 guard:7000\r\n-MOVED 1 guard:7000\r\n");
  EXPECT_EQ(topology.compared(), std::vector<std::string>{"k!"});
  EXPECT_EQ(topology.errors().size(), 5U) << "and each is heard of as it was";
  EXPECT_TRUE(topology.errors().front().starts_with("-MOVED 1 10."));
}

TEST(TopologyRepliesTest, a_node_that_is_not_known_stays_and_is_told_of) {
  Topology topology;
  const std::string moved = "-MOVED 1 10.0.0.9:6379\r\n";
  EXPECT_EQ(topology.told(moved, [](ReplyOrder& order) { order.expect_reply(); }), moved);
  EXPECT_GT(topology.misses(), 0);
}

TEST(TopologyRepliesTest, within_a_transaction_it_is_an_element_of_exec_s) {
  Topology topology;
  const auto transaction = [](ReplyOrder& order) {
    change(order, ChangeKind::multi);
    order.expect_reply();
    order.expect_reply_to(kClusterNodes);
    change(order, ChangeKind::end_multi);
    order.expect_reply();
  };
  const std::string queued = "+OK\r\n+QUEUED\r\n+QUEUED\r\n";
  EXPECT_EQ(topology.told(queued + "*2\r\n" + kNodes + kNodes + kNodes, transaction),
            queued + "*2\r\n" + kNodes + kTold + kNodes);
  EXPECT_EQ(topology.told(queued + "-MOVED 1 10.0.0.1:6379\r\n" + kNodes, transaction),
            queued + "-MOVED 1 guard:7000\r\n" + kNodes);
  EXPECT_EQ(
      topology.told("-ERR no MULTI\r\n" + kNodes + kNodes + "-ERR EXEC\r\n" + kNodes, transaction),
      "-ERR no MULTI\r\n" + kNodes + kTold + "-ERR EXEC\r\n" + kNodes);
}

TEST(TopologyRepliesTest, what_is_refused_within_a_transaction_is_no_element_of_exec_s) {
  Topology topology;
  const std::string nested = "-ERR MULTI calls can not be nested\r\n";
  EXPECT_EQ(
      topology.told("+OK\r\n+QUEUED\r\n" + nested + nested + "+QUEUED\r\n*2\r\n" + kNodes + kNodes,
                    [](ReplyOrder& order) {
                      change(order, ChangeKind::multi);
                      order.expect_reply();
                      change(order, ChangeKind::multi);
                      change(order, ChangeKind::watch);
                      order.expect_reply_to(kClusterNodes);
                      change(order, ChangeKind::end_multi);
                    }),
      "+OK\r\n+QUEUED\r\n" + nested + nested + "+QUEUED\r\n*2\r\n" + kNodes + kTold);
}

TEST(TopologyRepliesTest, one_that_was_discarded_is_in_no_later_transaction) {
  Topology topology;
  EXPECT_EQ(topology.told("+OK\r\n+QUEUED\r\n+OK\r\n+OK\r\n+QUEUED\r\n*1\r\n" + kNodes,
                          [](ReplyOrder& order) {
                            change(order, ChangeKind::multi);
                            order.expect_reply_to(kClusterNodes);
                            change(order, ChangeKind::end_multi);
                            change(order, ChangeKind::multi);
                            order.expect_reply();
                            change(order, ChangeKind::end_multi);
                          }),
            "+OK\r\n+QUEUED\r\n+OK\r\n+OK\r\n+QUEUED\r\n*1\r\n" + kNodes);
}

TEST(TopologyRepliesTest, reset_ends_a_transaction) {
  Topology topology;
  EXPECT_EQ(topology.told("+OK\r\n+RESET\r\n+OK\r\n+QUEUED\r\n*1\r\n" + kNodes,
                          [](ReplyOrder& order) {
                            change(order, ChangeKind::multi);
                            change(order, ChangeKind::reset);
                            change(order, ChangeKind::multi);
                            order.expect_reply_to(kClusterNodes);
                            change(order, ChangeKind::end_multi);
                          }),
            "+OK\r\n+RESET\r\n+OK\r\n+QUEUED\r\n*1\r\n" + kTold);
}

TEST(TopologyRepliesTest, a_multi_that_is_refused_begins_nothing) {
  cluster::Addresses addresses;
  addresses.add({.id = std::string(40, 'a'), .host = "10.0.0.1", .port = 6379}, 7000);
  NodeAddresses nodes({}, [] {});
  nodes.set({.addresses = std::move(addresses), .host_of_this_node = "10.0.0.1"});
  Chain chain;
  chain.order.rewrite(std::make_unique<TopologyReplies>(nodes, "guard"));
  change(chain.order, ChangeKind::multi);
  chain.order.expect_reply();
  EXPECT_TRUE(chain.order.relay("-NOAUTH\r\n+OK\r\n"));
  change(chain.order, ChangeKind::multi);
  chain.order.expect_reply_to(kClusterNodes);
  change(chain.order, ChangeKind::end_multi);
  EXPECT_TRUE(chain.order.relay("+OK\r\n+QUEUED\r\n*1\r\n" + kNodes));
  EXPECT_EQ(chain.sent(), "-NOAUTH\r\n+OK\r\n+OK\r\n+QUEUED\r\n*1\r\n" + kTold);
}

TEST(TopologyRepliesTest, pushes_in_between_are_not_taken_for_it) {
  Topology topology;
  EXPECT_EQ(topology.told(">2\r\n+message\r\n" + kNodes + kNodes,
                          [](ReplyOrder& order) { order.expect_reply_to(kClusterNodes); }),
            ">2\r\n+message\r\n" + kNodes + kTold);
}

TEST(TopologyRepliesTest, what_a_sentinel_publishes_is_rewritten_and_of_nobody_else) {
  const std::string published =
      "message\r\n$14\r\n+switch-master\r\n" + bulk("shop 10.0.0.1 6379 10.0.0.1 6379");
  const std::string told =
      "message\r\n$14\r\n+switch-master\r\n" + bulk("shop guard 7000 guard 7000");
  const std::string confirmed = "*3\r\n$9\r\nsubscribe\r\n$14\r\n+switch-master\r\n:1\r\n";
  const auto subscribe = [](ReplyOrder& order) {
    order.expect_observed_reply({.kind = ChangeKind::subscribe, .confirmations = 1});
  };
  Topology sentinel({.is_sentinel = true});
  Topology node;
  EXPECT_EQ(sentinel.told(confirmed + "*3\r\n$7\r\n" + published, subscribe),
            confirmed + "*3\r\n$7\r\n" + told);
  EXPECT_EQ(node.told(confirmed + "*3\r\n$7\r\n" + published, subscribe),
            confirmed + "*3\r\n$7\r\n" + published);
  const auto ask = [](ReplyOrder& order) { order.expect_reply_to(kClusterNodes); };
  EXPECT_EQ(sentinel.told(">3\r\n$7\r\n" + published + kNodes, ask), ">3\r\n$7\r\n" + told + kTold);
  EXPECT_EQ(node.told(">3\r\n$7\r\n" + published + kNodes, ask),
            ">3\r\n$7\r\n" + published + kTold);
}

TEST(TopologyRepliesTest, what_is_too_long_to_be_kept_is_relayed_as_it_is) {
  Chain chain;
  NodeAddresses nodes({}, [] {});
  chain.order.rewrite(std::make_unique<TopologyReplies>(nodes, "guard"));
  chain.order.expect_reply_to(kClusterNodes);
  chain.order.expect_reply();
  const std::string half(TopologyReplies::kReplyBytesMax / 2 + 1, 'x');
  const std::string header = "$" + std::to_string(2 * half.size()) + "\r\n";
  EXPECT_TRUE(chain.order.relay(header + half));
  EXPECT_EQ(chain.output.size(), 0U);
  EXPECT_GE(chain.order.waiting_bytes(), header.size() + half.size());
  EXPECT_TRUE(chain.order.relay(half + "\r\n-MOVED 1 " + std::string(600, 'x') + "\r\n"));
  EXPECT_EQ(chain.order.waiting_bytes(), 0U);
  EXPECT_EQ(chain.output.size(), header.size() + 2 * half.size() + 2 + 609 + 2);
}

}  // namespace
}  // namespace cuckooguard::topology
