// A master of a cluster is cut off from all other nodes, and not from clients: what it says then is
// of yesterday. Clients of the guard are no worse off than they are without it. In a network of the
// test's own.

#include <cstdio>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/client_program.h"
#include "fixtures/guarded_cluster.h"
#include "fixtures/skip.h"
#include "harness/private_network.h"
#include "harness/redis_command.h"
#include "harness/shop.h"

namespace cuckooguard::harness {
namespace {

using ::testing::StartsWith;

// The first node speaks to the others from one address, they to it from another, clients from
// 127.0.0.1.
constexpr std::string_view kFirst = "127.0.0.2";
constexpr std::string_view kOthers = "127.0.0.3";

// In front of the cluster, which is started in it.
struct InPrivateNetwork {
  PrivateNetwork network;
};

class ClusterPartition : private InPrivateNetwork, public GuardedCluster {
 protected:
  ClusterPartition()
      : GuardedCluster({.arguments = {"--cluster-announce-ip",
                                      "127.0.0.1",
                                      "--protected-mode",
                                      "no",
                                      "--bind-source-addr",
                                      std::string(kOthers)},
                        .of_the_first = {"--bind-source-addr", std::string(kFirst)}}) {}

  void SetUp() override { SKIP_IF_MISSING(PrivateNetwork::missing()); }

  void cut_off_the_first() {
    constexpr std::uint16_t kToBus = 10000;
    network.cut(kFirst);
    network.cut(kOthers, cluster_.port(0));
    network.cut(kOthers, cluster_.port(0) + kToBus);
  }
  void wait_for_a_new_master() {
    EXPECT_TRUE(eventually([this] { return cluster_.is_master(kReplica); }));
  }
  void heal() {
    network.heal();
    EXPECT_TRUE(eventually([this] { return !cluster_.is_master(0); }));
    cluster_.wait_until_ok();
  }

  static constexpr std::size_t kReplica = 3;  // of the first
};

TEST_F(ClusterPartition, the_minority_s_old_map_does_not_win) {
  const std::string key = present_key_of(0);
  const std::string absent = absent_key_of(0);
  const std::vector<std::uint16_t> ports = ports_;
  EXPECT_EQ(client(0).exchange(command({"SET", key, "before"}) + command({"WAIT", "1", "5000"}), 2),
            "+OK\r\n:1\r\n");
  cut_off_the_first();
  wait_for_a_new_master();
  EXPECT_TRUE(eventually([&] { return try_at(kReplica, {"GET", absent}) == absent_reply(); }))
      << "the guard answers for the new master";
  EXPECT_EQ(client(kReplica).call({"GET", key}), bulk("before"));
  EXPECT_EQ(client(kReplica).call({"SET", key, "after"}), kOk);
  // The old one says that it has the slots, and that it is cut off: nothing is answered for it.
  ASSERT_THAT(cluster_.text(0, "NODES"), ::testing::HasSubstr("myself,master"));
  ASSERT_THAT(cluster_.call(0, {"GET", absent}), StartsWith("-CLUSTERDOWN"));
  EXPECT_TRUE(eventually([&] { return try_at(0, {"GET", absent}).starts_with("-CLUSTERDOWN"); }));
  EXPECT_THAT(client(0).call({"SET", key, "of yesterday"}), StartsWith("-CLUSTERDOWN"));
  for (const std::size_t other : {1, 2}) {
    EXPECT_EQ(client(other).call({"GET", key}), moved_to(key, ports[kReplica]));
    EXPECT_EQ(client(other).call({"GET", absent}), moved_to(absent, ports[kReplica]));
  }
  EXPECT_EQ(client(kReplica).call({"GET", absent}), absent_reply()) << "and goes on to";
  heal();
  EXPECT_TRUE(
      eventually([&] { return try_at(0, {"GET", key}) == moved_to(key, ports[kReplica]); }));
  EXPECT_EQ(client(0).call({"GET", absent}), moved_to(absent, ports[kReplica]));
  EXPECT_EQ(client(kReplica).call({"GET", key}), bulk("after"));
  ASSERT_TRUE(learn_ports());
  EXPECT_EQ(ports_, ports);
}

// What the cut off master acknowledges until it notices is lost, without the guard, too.
TEST_F(ClusterPartition, no_write_is_lost_but_by_the_cut_off_master) {
  const ClientLibrary library = ClientLibrary::python();
  SKIP_IF_MISSING(library.missing());
  constexpr std::uint64_t kFirstGuarded = 1;
  constexpr std::uint64_t kFirstStraight = 101;
  ClientProgram guarded(library, ports_[0], kFirstGuarded, directory_ / "guarded");
  ClientProgram straight(library, cluster_.port(0), kFirstStraight, directory_ / "straight");
  const auto wait_for_both = [&] {
    guarded.wait_for_progress();
    straight.wait_for_progress();
  };
  wait_for_both();
  cut_off_the_first();
  wait_for_a_new_master();
  heal();  // until then the library may go on believing the node that it asks first
  wait_for_both();
  guarded.tell_to_end();
  straight.tell_to_end();
  guarded.finish();
  straight.finish();
  std::uint64_t of_the_first = 0;
  for (std::uint64_t i = 0; i < 100; ++i) {
    of_the_first += owner_of(user(kFirstGuarded + i)) == 0 ? 1 : 0;
  }
  EXPECT_EQ(guarded.number("wrong"), 0U);
  EXPECT_EQ(straight.number("wrong"), 0U);
  EXPECT_LE(guarded.number("lost"), of_the_first);
  EXPECT_GT(guarded.number("absent_answered"), 0U);
  std::printf("keys of the master that was cut off: %llu\n",
              static_cast<unsigned long long>(of_the_first));
}

}  // namespace
}  // namespace cuckooguard::harness
