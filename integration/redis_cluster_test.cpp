// What a real cluster says of itself, and when its nodes change: whether the map that is made of it
// is what its nodes do.

#include "harness/redis_cluster.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "cluster/addresses.h"
#include "cluster/map.h"
#include "cluster/topology_reply.h"
#include "harness/redis_command.h"

namespace cuckooguard::harness {
namespace {

class RedisClusterMap : public ::testing::Test {
 protected:
  cluster::Map map(const std::vector<std::size_t>& of) const {
    std::vector<cluster::View> views;
    for (const std::size_t i : of) {
      auto view = cluster::parse_nodes(cluster_.text(i, "NODES"), "127.0.0.1");
      EXPECT_TRUE(view) << view.error();
      view->is_ok = cluster::is_state_ok(cluster_.text(i, "INFO"));
      views.push_back(*view);
    }
    return cluster::merge(views);
  }
  // Of all nodes only the key's owner takes it; the others name the owner.
  void expect_owners(const std::vector<std::size_t>& running) const {
    const cluster::Map known = map(running);
    for (const std::string_view key : {"a", "b", "c", "{user:42}:cart", "{", "{}x", "x{}{y}"}) {
      const cluster::Node* const owner = known.owner_of(redis::slot_of(key));
      ASSERT_NE(owner, nullptr);
      const std::string slot = std::to_string(redis::slot_of(key));
      for (const std::size_t i : running) {
        EXPECT_EQ(cluster_.call(i, {"CLUSTER", "KEYSLOT", key}), ":" + slot + "\r\n");
        const bool is_owner = cluster_.id(i) == owner->id;
        const std::string moved =
            "-MOVED " + slot + " " + owner->host + ":" + std::to_string(owner->port) + "\r\n";
        EXPECT_EQ(cluster_.call(i, {"SET", key, "value"}), is_owner ? kOk : moved) << key;
      }
    }
  }

  RedisCluster cluster_;
};

TEST_F(RedisClusterMap, is_true_before_and_after_a_failover_and_a_new_node) {
  const cluster::Map before = map({0, 5});
  ASSERT_EQ(before.nodes().size(), 6);
  for (std::size_t i = 0; i < cluster_.size(); ++i) {
    const cluster::Node* const node = before.find(cluster_.id(i));
    ASSERT_NE(node, nullptr);
    EXPECT_EQ(node->host + ":" + std::to_string(node->port), cluster_.address(i));
    EXPECT_EQ(node->is_master, i < 3);
    EXPECT_EQ(node->master_id, i < 3 ? "" : cluster_.id(i - 3));
    EXPECT_TRUE(node->is_reachable && !node->is_failing);
  }
  expect_owners({0, 1, 2, 3, 4, 5});

  cluster_.kill(0);
  const std::vector<std::size_t> others{1, 2, 3, 4, 5};
  EXPECT_TRUE(eventually([&] {
    const cluster::Map now = map(others);
    const cluster::Node* const owner = now.owner_of(0);
    return owner != nullptr && owner->id == cluster_.id(3) && now.find(cluster_.id(0))->is_failing;
  }));
  cluster_.wait_until_ok();
  EXPECT_TRUE(eventually([&] {  // all have heard of it
    for (const std::size_t i : others) {
      const cluster::Map one = map({i});
      if (one.owner_of(0) == nullptr || one.owner_of(0)->id != cluster_.id(3)) {
        return false;
      }
    }
    return true;
  }));
  expect_owners(others);

  const std::size_t added = cluster_.add();
  EXPECT_EQ(map({1}).find(cluster_.id(added))->port, cluster_.port(added));
}

TEST_F(RedisClusterMap, knows_what_moves_and_asks_are_rewritten) {
  const std::string slot = std::to_string(redis::slot_of("a"));
  const cluster::Map before = map({0});
  const std::size_t from = before.owner_of(redis::slot_of("a"))->id == cluster_.id(2) ? 2 : 0;
  ASSERT_EQ(cluster_.id(from), before.owner_of(redis::slot_of("a"))->id);
  EXPECT_EQ(cluster_.call(1, {"CLUSTER", "SETSLOT", slot, "IMPORTING", cluster_.id(from)}), kOk);
  EXPECT_EQ(cluster_.call(from, {"CLUSTER", "SETSLOT", slot, "MIGRATING", cluster_.id(1)}), kOk);
  EXPECT_TRUE(map({1}).is_moving(redis::slot_of("a")));
  EXPECT_TRUE(map({from}).is_moving(redis::slot_of("a")));
  EXPECT_FALSE(map({from}).is_moving(redis::slot_of("b")));

  cluster::Addresses addresses;
  for (const cluster::Node& node : before.nodes()) {
    addresses.add(node, node.id == cluster_.id(1) ? 1 : 2);
  }
  const std::string ask = cluster_.call(from, {"GET", "a"});
  EXPECT_EQ(ask, "-ASK " + slot + " " + cluster_.address(1) + "\r\n");
  EXPECT_EQ(cluster::rewrite(cluster::TopologyReply::none, ask, addresses, {.host = "guard"}).reply,
            "-ASK " + slot + " guard:1\r\n");
}

}  // namespace
}  // namespace cuckooguard::harness
