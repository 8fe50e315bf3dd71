// A cluster whose nodes' own addresses do not lead to them, as behind NAT: the guard is told where
// it reaches them, and nobody else needs to know. And one whose nodes have ports for TLS.

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/guarded_cluster.h"
#include "harness/certificates.h"
#include "harness/configuration.h"
#include "harness/redis_cluster.h"
#include "harness/redis_command.h"
#include "harness/shop.h"

namespace cuckooguard::harness {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::size_t kMasters = 3;

// Where nobody listens.
std::string told(std::size_t node) {
  return "127.0.0.1:" + std::to_string(node + 1);
}

class NodeAddresses : public testing::Test {
 protected:
  NodeAddresses() : database_(directory_ / "shop.db", Journal::wal) {
    database_.insert_users(1, 10);
    for (std::size_t i = 0; i < kMasters; ++i) {
      const std::string port = std::to_string(i + 1);
      EXPECT_EQ(cluster_.call(i, {"CONFIG", "SET", "cluster-announce-port", port}), kOk);
    }
    EXPECT_TRUE(eventually([this] {
      for (std::size_t i = 0; i < kMasters; ++i) {
        for (std::size_t node = 0; node < kMasters; ++node) {
          if (!cluster_.text(i, "NODES").contains(cluster_.id(node) + " " + told(node) + "@")) {
            return false;
          }
        }
      }
      return true;
    })) << cluster_.text(0, "NODES");
  }

  std::string yaml(const std::string& more) const {
    return Configuration{.upstream = "{ cluster: [ '" + cluster_.address(0) +
                                     "' ], mode: " + upstream_mode() + more + " }",
                         .source = sqlite_source(directory_ / "shop.db", ", max_lag: 10m")}
        .yaml();
  }

  TemporaryDirectory directory_;
  Database database_;
  RedisCluster cluster_{{.masters = kMasters, .replicas = 0}};
};

TEST_F(NodeAddresses, nodes_are_reached_where_the_configuration_says) {
  std::string pairs;
  for (std::size_t i = 0; i < kMasters; ++i) {
    pairs += (i == 0 ? "'" : ", '") + told(i) + "=" + cluster_.address(i) + "'";
  }
  const GuardProcess guard =
      GuardProcess::on_node_ports(yaml(", node_addresses: [ " + pairs + " ]"), kMasters);
  // Absent at the one port whose node has the slot; the others send there.
  const auto port_of_answer = [&]() -> std::uint16_t {
    for (std::uint16_t port = guard.port(); port < guard.port() + kMasters; ++port) {
      try {
        if (RawClient::to_port(port).call({"GET", user(kAbsent)}) == absent_reply()) {
          return port;
        }
      } catch (const std::runtime_error&) {
        continue;  // it leads nowhere yet
      }
    }
    return 0;
  };
  ASSERT_TRUE(eventually([&] { return port_of_answer() != 0; })) << guard.log();
  const std::uint16_t owner = port_of_answer();
  for (std::uint16_t port = guard.port(); port < guard.port() + kMasters; ++port) {
    RawClient client = RawClient::to_port(port);
    const std::string reply = client.call({"GET", user(kAbsent)});
    if (port != owner) {
      EXPECT_THAT(reply, HasSubstr(" 127.0.0.1:" + std::to_string(owner) + "\r\n"));
    }
    const std::string nodes = client.call({"CLUSTER", "NODES"});
    for (std::size_t i = 0; i < kMasters; ++i) {
      EXPECT_THAT(nodes, Not(HasSubstr(" " + told(i) + "@")));
      EXPECT_THAT(nodes, Not(HasSubstr(" " + cluster_.address(i) + "@")));
    }
  }
  EXPECT_TRUE(eventually([&] {
    return guard.log().contains("event=upstream_up address=" + told(2) + "\n");
  })) << "a node is called what the cluster calls it: "
      << guard.log();
}

// What the test above would not notice if these addresses led there.
TEST_F(NodeAddresses, without_it_they_are_not_reached) {
  const GuardProcess guard = GuardProcess::on_node_ports(yaml(""), kMasters);
  EXPECT_TRUE(eventually([&] {
    return count_in(guard.log(), "event=upstream_down why=\"Connection refused\"") == kMasters;
  })) << guard.log();
}

const std::filesystem::path& certificates() {
  static const TemporaryDirectory kFolder;
  static const auto kWritten = (write_certificates(kFolder.path()), &kFolder.path());
  return *kWritten;
}

// Nodes that clients may reach by TLS, each at a port of its own beside the plain one.
class NodesWithTls : public GuardedCluster {
 protected:
  NodesWithTls() : GuardedCluster({.replicas = 1, .tls_folder = certificates()}) {}

  // By which of its ports the guard has reached it.
  bool is_reached_by_tls(std::size_t node) const {
    const std::string clients = cluster_.call(node, {"CLIENT", "LIST"});
    return clients.contains(" laddr=127.0.0.1:" + std::to_string(cluster_.tls_port(node)) + " ");
  }
};

TEST_F(NodesWithTls, are_reached_by_tls_also_after_a_slot_and_a_master_have_moved) {
  const std::string key = present_key_of(0);
  for (std::size_t node = 0; node < kMasters; ++node) {
    EXPECT_EQ(client(node).call({"SET", present_key_of(node), "x"}), kOk);
    EXPECT_TRUE(is_reached_by_tls(node));
  }
  cluster_.move_slot(slot_of(key), 0, 1);
  EXPECT_EQ(client(0).call({"GET", key}), moved_to(key, ports_[1]));
  EXPECT_EQ(client(1).call({"GET", key}), bulk("x"));
  cluster_.fail_over_to(3);
  const std::string other = absent_key_of(0);
  EXPECT_TRUE(eventually([&] { return try_at(3, {"GET", other}) == absent_reply(); }))
      << guard_->log();
  EXPECT_EQ(try_at(3, {"SET", other, "y"}), kOk);
  EXPECT_TRUE(is_reached_by_tls(3));
  EXPECT_EQ(try_at(0, {"GET", other}), moved_to(other, ports_[3]));
}

}  // namespace
}  // namespace cuckooguard::harness
