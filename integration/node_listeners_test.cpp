// In front of a Redis Cluster: a port for each node, and nobody can tell the guard from the nodes
// but by their ports.

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/guarded_cluster.h"
#include "harness/configuration.h"
#include "harness/redis_command.h"
#include "harness/shop.h"

namespace cuckooguard::harness {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class Cluster : public GuardedCluster {
 protected:
  // No node's own port is in it.
  void expect_no_node_in(const std::string& reply) const {
    for (std::size_t i = 0; i < cluster_.size(); ++i) {
      const std::string port = std::to_string(cluster_.port(i));
      EXPECT_THAT(reply, Not(HasSubstr(":" + port + "\r\n")));
      EXPECT_THAT(reply, Not(HasSubstr(":" + port + "@")));
    }
  }
};

TEST_F(Cluster, tells_of_its_nodes_by_the_guard_s_ports_alone) {
  for (const std::string_view version : {"2", "3"}) {
    RawClient client = this->client(1);
    client.call({"HELLO", version});
    for (const std::string_view what : {"SLOTS", "SHARDS", "NODES"}) {
      const auto has_all = [&](const std::string& reply) {
        expect_no_node_in(reply);
        return std::ranges::all_of(
            ports_, [&](std::uint16_t port) { return reply.contains(std::to_string(port)); });
      };
      // A replica is told of when it has said how far it is.
      EXPECT_TRUE(eventually([&] { return has_all(client.call({"CLUSTER", what})); })) << what;
    }
    const std::string replicas = client.call({"CLUSTER", "REPLICAS", cluster_.id(0)});
    expect_no_node_in(replicas);
    EXPECT_THAT(replicas, HasSubstr("127.0.0.1:" + std::to_string(ports_[3]) + "@"));
  }
}

TEST_F(Cluster, tells_of_its_nodes_within_a_transaction_too) {
  RawClient client = this->client(0);
  const std::string key = present_key_of(0);
  const std::string replies = client.exchange(command({"MULTI"}) + command({"SET", key, "1"}) +
                                                  command({"CLUSTER", "NODES"}) + command({"EXEC"}),
                                              4);
  EXPECT_THAT(replies, StartsWith("+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n+OK\r\n$"));
  expect_no_node_in(replies);
  EXPECT_THAT(replies, HasSubstr(":" + std::to_string(ports_[2]) + "@"));
}

TEST_F(Cluster, sends_clients_on_to_the_port_of_the_node_that_has_the_key) {
  RawClient client = this->client(0);
  const std::string key = present_key_of(2);
  EXPECT_EQ(client.call({"GET", key}), moved_to(key, ports_[2]));
  EXPECT_EQ(client.call({"SET", key, "1"}), moved_to(key, ports_[2]));
  EXPECT_EQ(client.exchange(command({"MULTI"}) + command({"GET", key}) + command({"EXEC"}), 3),
            "+OK\r\n" + moved_to(key, ports_[2]) +
                "-EXECABORT Transaction discarded because of previous errors.\r\n");
  RawClient there = this->client(2);
  EXPECT_EQ(there.call({"SET", key, "1"}), kOk);
  EXPECT_EQ(there.call({"GET", key}), bulk("1"));
}

TEST_F(Cluster, answers_for_absent_keys_only_where_redis_would_have_the_key) {
  const std::string absent = absent_key_of(1);
  const std::uint64_t before = cluster_.node(1).calls("get");
  EXPECT_EQ(client(1).call({"GET", absent}), absent_reply());
  EXPECT_EQ(client(0).call({"GET", absent}), moved_to(absent, ports_[1]));
  EXPECT_EQ(cluster_.node(1).calls("get"), before) << "the guard has answered";
}

TEST_F(Cluster, does_not_answer_for_keys_of_several_slots) {
  RawClient client = this->client(1);
  const std::string crossslot = "-CROSSSLOT Keys in request don't hash to the same slot\r\n";
  EXPECT_EQ(client.call({"MGET", absent_key_of(1), absent_key_of(1, 1)}), crossslot);
  EXPECT_EQ(client.call({"EXISTS", absent_key_of(1), absent_key_of(1, 1)}), crossslot);
  const std::size_t owner = owner_of("{user}:1");
  RawClient there = this->client(owner);
  EXPECT_EQ(there.call({"SET", "{user}:1", "one"}), kOk);
  EXPECT_EQ(there.call({"MGET", "{user}:1000001", "{user}:1", "{user}:1000002"}),
            "*3\r\n" + absent_reply() + bulk("one") + absent_reply());
  EXPECT_EQ(there.call({"EXISTS", "{user}:1000001", "{user}:1000002"}), ":0\r\n");
  EXPECT_EQ(cluster_.node(owner).calls("exists"), 0U);
}

TEST_F(Cluster, answers_for_a_replica_only_who_reads_from_replicas) {
  constexpr std::size_t kReplicaOfFirst = 3;
  const std::string absent = absent_key_of(0);
  RawClient client = this->client(kReplicaOfFirst);
  EXPECT_EQ(client.call({"GET", absent}), moved_to(absent, ports_[0]));
  EXPECT_EQ(client.call({"READONLY"}), kOk);
  // What the guard has asked the replica may come after what it has asked the masters.
  EXPECT_TRUE(eventually([&] { return client.call({"GET", absent}) == absent_reply(); }));
  const std::string other = absent_key_of(1);
  EXPECT_EQ(client.call({"GET", other}), moved_to(other, ports_[1]));
  EXPECT_EQ(client.call({"READWRITE"}), kOk);
  EXPECT_EQ(client.call({"GET", absent}), moved_to(absent, ports_[0]));
}

TEST_F(Cluster, a_slot_on_its_way_is_the_nodes_own_business) {
  const std::string absent = absent_key_of(0);
  const std::string slot = std::to_string(slot_of(absent));
  ASSERT_EQ(cluster_.call(1, {"CLUSTER", "SETSLOT", slot, "IMPORTING", cluster_.id(0)}), kOk);
  ASSERT_EQ(cluster_.call(0, {"CLUSTER", "SETSLOT", slot, "MIGRATING", cluster_.id(1)}), kOk);
  RawClient from = client(0);
  const std::string ask = "-ASK " + slot + " 127.0.0.1:" + std::to_string(ports_[1]) + "\r\n";
  EXPECT_TRUE(eventually([&] { return from.call({"GET", absent}) == ask; }));
  RawClient to = client(1);
  EXPECT_EQ(to.call({"GET", absent}), moved_to(absent, ports_[0]));
  EXPECT_EQ(to.exchange(command({"ASKING"}) + command({"GET", absent}), 2), "+OK\r\n$-1\r\n");
  EXPECT_EQ(to.call({"ASKING"}), kOk);
  EXPECT_EQ(to.call({"SET", absent, "1"}), kOk);
  EXPECT_EQ(to.call({"GET", absent}), moved_to(absent, ports_[0])) << "ASKING holds for one";
  ASSERT_EQ(cluster_.call(1, {"CLUSTER", "SETSLOT", slot, "NODE", cluster_.id(1)}), kOk);
  ASSERT_EQ(cluster_.call(0, {"CLUSTER", "SETSLOT", slot, "NODE", cluster_.id(1)}), kOk);
  EXPECT_EQ(from.call({"GET", absent}), moved_to(absent, ports_[1]));
  EXPECT_EQ(to.call({"GET", absent}), bulk("1"));
}

TEST_F(Cluster, a_node_that_joins_has_a_port_and_one_that_is_killed_keeps_its_own) {
  const std::size_t added = cluster_.add();
  ASSERT_TRUE(eventually([this] { return learn_ports(); })) << guard_->log();
  EXPECT_EQ(client(added).call({"PING"}), kPong);
  const std::uint16_t before = ports_[0];
  const std::string key = present_key_of(0);
  EXPECT_EQ(client(0).call({"SET", key, "1"}), kOk);
  EXPECT_EQ(client(0).exchange(command({"SET", key, "1"}) + command({"WAIT", "1", "5000"}), 2),
            "+OK\r\n:1\r\n");
  cluster_.kill(0);
  // Its replica takes over: reached where the replica was.
  EXPECT_TRUE(eventually([&] { return try_at(3, {"GET", key}) == bulk("1"); }));
  const std::string absent = absent_key_of(0);
  EXPECT_TRUE(eventually([&] { return try_at(3, {"GET", absent}) == absent_reply(); }));
  ASSERT_TRUE(learn_ports());
  EXPECT_EQ(ports_[0], before);
  cluster_.start_again(0);
  cluster_.wait_until_ok();
  EXPECT_TRUE(eventually([&] { return try_at(0, {"GET", key}) == moved_to(key, ports_[3]); }));
}

TEST_F(Cluster, a_node_has_the_same_port_after_a_restart) {
  const std::string storing = yaml() + storage(directory_ / "kept");
  guard_->restart(storing);
  ASSERT_TRUE(eventually([this] { return learn_ports(); }));
  // As if the first had been learned last.
  const std::vector<std::uint16_t> before = ports_;
  const auto first = static_cast<std::size_t>(std::ranges::min_element(before) - before.begin());
  const std::filesystem::path kept = directory_ / "kept/cluster-nodes";
  const std::string text = read_whole_file(kept);
  ASSERT_TRUE(text.starts_with("0 " + cluster_.id(first) + "\n")) << text;
  write_whole_file(kept, "7" + text.substr(1));
  guard_->restart(storing);
  ASSERT_TRUE(eventually([this] { return learn_ports(); }));
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(ports_[i], i == first ? guard_->port() + 7 : before[i]) << i;
  }
}

}  // namespace
}  // namespace cuckooguard::harness
