// In front of a Redis Cluster: a port for each node, and nobody can tell the guard from the nodes
// but by their ports.

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/skip.h"
#include "harness/child_process.h"
#include "harness/configuration.h"
#include "harness/database.h"
#include "harness/guard_process.h"
#include "harness/redis_cluster.h"
#include "harness/redis_command.h"
#include "harness/shop.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::harness {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::size_t kPorts = 8;
constexpr std::size_t kMasters = 3;
constexpr std::uint64_t kSlotsOfMaster = 16384 / kMasters;

std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

class Cluster : public testing::Test {
 protected:
  Cluster() : database_(directory_ / "shop.db", Journal::wal) {
    database_.insert_users(1, kUsers);
    guard_.emplace(GuardProcess::on_node_ports(yaml(), kPorts));
    EXPECT_TRUE(eventually([this] { return learn_ports() && answers_on_all_masters(); }))
        << guard_->log();
  }

  std::string yaml() const {
    return Configuration{
        .upstream = "{ cluster: [ '" + cluster_.address(4) +
                    "', '127.0.0.1:1' ], mode: " + upstream_mode() + " }",
        .source = sqlite_source(directory_ / "shop.db", ", max_lag: 10m"),
        .namespaces = Guarded{.keys = R"([ "user:{id:uint64}", "{{user}}:{id:uint64}" ])"}.yaml()}
        .yaml();
  }

  // Which of the guard's ports leads to which node: by what it says itself.
  bool learn_ports() {
    ports_.clear();
    if (count_in(guard_->log(), "event=cluster_node ") < cluster_.size()) {
      return false;  // a port that leads nowhere yet closes
    }
    std::string nodes;
    for (std::uint16_t port = guard_->port(); nodes.empty(); ++port) {  // one may be down
      nodes = try_at_port(port, {"CLUSTER", "NODES"});
    }
    for (std::size_t i = 0; i < cluster_.size(); ++i) {
      const std::size_t line = nodes.find(cluster_.id(i) + " 127.0.0.1:");
      if (line == std::string::npos) {
        return false;
      }
      ports_.push_back(
          static_cast<std::uint16_t>(number(std::string_view(nodes).substr(line + 51, 5))));
      if (ports_.back() < guard_->port() || ports_.back() >= guard_->port() + kPorts) {
        return false;
      }
    }
    return true;
  }

  // Empty: the node is not there, as without the guard.
  static std::string try_at_port(std::uint16_t port,
                                 std::initializer_list<std::string_view> arguments) {
    try {
      return RawClient::to_port(port).call(arguments);
    } catch (const std::runtime_error&) {
      return {};
    }
  }
  std::string try_at(std::size_t node, std::initializer_list<std::string_view> arguments) const {
    return try_at_port(ports_.at(node), arguments);
  }
  RawClient client(std::size_t node) const { return RawClient::to_port(ports_.at(node)); }

  std::uint64_t slot_of(std::string_view key) const {
    const std::string reply = cluster_.call(1, {"CLUSTER", "KEYSLOT", key});
    return number(std::string_view(reply).substr(1));
  }
  std::size_t owner_of(std::string_view key) const {
    return std::min<std::size_t>(slot_of(key) / (kSlotsOfMaster + 1), kMasters - 1);
  }
  // Of the slots of this master; `n` tells them apart.
  std::string absent_key_of(std::size_t master, std::size_t n = 0) const {
    for (std::uint64_t i = 0;; ++i) {
      if (owner_of(absent_user(i)) == master && n-- == 0) {
        return absent_user(i);
      }
    }
  }
  std::string present_key_of(std::size_t master) const {
    for (std::uint64_t id = 1;; ++id) {
      if (owner_of(user(id)) == master) {
        return user(id);
      }
    }
  }
  bool answers_on_all_masters() const {
    for (std::size_t i = 0; i < kMasters; ++i) {
      if (client(i).call({"GET", absent_key_of(i)}) != absent_reply()) {
        return false;
      }
    }
    return true;
  }
  // No node's own port is in it.
  void expect_no_node_in(const std::string& reply) const {
    for (std::size_t i = 0; i < cluster_.size(); ++i) {
      const std::string port = std::to_string(cluster_.port(i));
      EXPECT_THAT(reply, Not(HasSubstr(":" + port + "\r\n")));
      EXPECT_THAT(reply, Not(HasSubstr(":" + port + "@")));
    }
  }
  std::string moved_to(std::string_view key, std::uint16_t port) const {
    return "-MOVED " + std::to_string(slot_of(key)) + " 127.0.0.1:" + std::to_string(port) + "\r\n";
  }

  TemporaryDirectory directory_;
  Database database_;
  RedisCluster cluster_;
  std::optional<GuardProcess> guard_;
  std::vector<std::uint16_t> ports_;  // by node
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
  EXPECT_EQ(client.call({"GET", absent}), absent_reply());
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

// Debian's python3, whose package python3-redis is.
constexpr const char* kPython = "/usr/bin/python3";

class ClusterClient : public Cluster {
 protected:
  // All of the slot's keys, as redis-cli --cluster reshard does it.
  void move_slot(const std::string& slot, std::size_t from, std::size_t to) {
    ASSERT_EQ(cluster_.call(to, {"CLUSTER", "SETSLOT", slot, "IMPORTING", cluster_.id(from)}), kOk);
    ASSERT_EQ(cluster_.call(from, {"CLUSTER", "SETSLOT", slot, "MIGRATING", cluster_.id(to)}), kOk);
    for (;;) {
      const std::string keys = cluster_.call(from, {"CLUSTER", "GETKEYSINSLOT", slot, "1"});
      if (keys == "*0\r\n") {
        break;
      }
      const std::size_t begin = keys.find("\r\n", 4) + 2;
      const std::string key = keys.substr(begin, keys.size() - begin - 2);
      const std::string port = std::to_string(cluster_.port(to));
      cluster_.call(from, {"MIGRATE", "127.0.0.1", port, key, "0", "5000"});
    }
    for (const std::size_t node : {to, from}) {
      ASSERT_EQ(cluster_.call(node, {"CLUSTER", "SETSLOT", slot, "NODE", cluster_.id(to)}), kOk);
    }
  }
};

TEST_F(ClusterClient, reads_what_it_wrote_while_slots_move_and_masters_change) {
  SKIP_IF_MISSING(missing_packages("python3-redis", {kPython, "-c", "import redis.cluster"}));
  const std::filesystem::path output = directory_ / "output";
  ChildProcess client({kPython,
                       std::string(CUCKOOGUARD_CLIENTS) + "/python_cluster.py",
                       std::to_string(ports_[0]),
                       std::string(kAbsentText),
                       "8"},
                      {output, directory_ / "errors"});
  ASSERT_TRUE(eventually([&] { return cluster_.node(0).calls("set") > 100; }));
  for (std::uint64_t id = 1; id <= 20; ++id) {
    if (owner_of(user(id)) == 0) {
      move_slot(std::to_string(slot_of(user(id))), 0, 2);
    }
  }
  EXPECT_EQ(cluster_.call(3, {"CLUSTER", "FAILOVER"}), kOk);
  EXPECT_TRUE(eventually([&] { return cluster_.node(3).info("replication", "role") == "master"; }));
  cluster_.kill(1);
  EXPECT_TRUE(eventually([&] { return cluster_.node(4).info("replication", "role") == "master"; }));
  const std::uint64_t before = cluster_.node(4).calls("set");
  EXPECT_TRUE(eventually([&] { return cluster_.node(4).calls("set") > before; }))
      << "the client goes on where the replica is";
  EXPECT_EQ(client.exit_code(), 0) << read_whole_file(directory_ / "errors");
  const std::string told = read_whole_file(output);
  std::printf("%s", told.c_str());
  const auto field = [&](const std::string& name) {
    return number(std::string_view(told).substr(told.find('"' + name + "\": ") + name.size() + 4));
  };
  EXPECT_EQ(field("wrong"), 0U);
  EXPECT_GT(field("operations"), 50U);
  EXPECT_GT(field("absent_answered"), field("absent_asked") * 9 / 10);
  for (std::size_t i = 0; i < cluster_.size(); ++i) {
    EXPECT_THAT(told, Not(HasSubstr(std::to_string(cluster_.port(i)))));
  }
}

}  // namespace
}  // namespace cuckooguard::harness
