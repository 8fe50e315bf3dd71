// Nobody waits for a neighbour: what is shared and says nothing more holds up those who wait for it
// already, for a time that is known, and nobody else. Of a cluster behind one port that is a node.
//
// It falls silent in one of two ways: a relay acknowledges what it is sent and does nothing with it
// (SlowLink::forget_connections), or the network loses it without a word (PrivateNetwork).

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "fixtures/skip.h"
#include "harness/configuration.h"
#include "harness/guard_process.h"
#include "harness/ports.h"
#include "harness/private_network.h"
#include "harness/redis_cluster.h"
#include "harness/redis_command.h"
#include "harness/redis_server.h"
#include "harness/slow_link.h"

namespace cuckooguard::harness {
namespace {

constexpr milliseconds kSilence{3000};  // `upstream.silence`
constexpr milliseconds kBusy{2000};     // of a machine that runs other tests, too
constexpr const char* kScript = "return 1";

std::string in_front_of(std::uint16_t port, const std::string& mode) {
  return "upstream: { address: " + port_address(port) + ", mode: " + mode + " }\nworkers: 1\n";
}

RawClient asks(const GuardProcess& guard, std::initializer_list<std::string_view> arguments) {
  RawClient client = guard.client();
  client.send(command(arguments));
  return client;
}

class SilentRelay : public testing::Test {
 protected:
  RedisServer redis_;
  SlowLink link_{redis_.port()};
  GuardProcess guard_ = GuardProcess::on_port(in_front_of(link_.port(), "shared"));
};

// Three times, since what was opened for the one loss is there at the next.
TEST_F(SilentRelay, costs_those_who_wait_on_it_and_nobody_else) {
  constexpr int kClients = 40;
  constexpr int kInVain = 6;  // one for each connection that there is
  for (int loss = 0; loss < 3; ++loss) {
    RawClient idle = guard_.client();  // or nothing would be shared any more
    EXPECT_EQ(idle.call({"SET", "k", "1"}), kOk);
    EXPECT_EQ(idle.call({"GET", "k"}), bulk("1"));
    link_.forget_connections();
    const auto lost_at = SteadyClock::now();
    std::vector<RawClient> clients;
    for (int i = 0; i < kClients; ++i) {
      clients.push_back(i % 2 == 0 ? asks(guard_, {"GET", "k"}) : asks(guard_, {"SET", "k", "1"}));
      let_pass(milliseconds(50));
    }
    int in_vain = 0;
    for (RawClient& client : clients) {
      try {
        (void)client.read_reply();
      } catch (const std::runtime_error&) {  // closed
        ++in_vain;
      }
    }
    EXPECT_GT(in_vain, 0);
    EXPECT_LE(in_vain, kInVain);
    EXPECT_LT(SteadyClock::now() - lost_at, 2 * kSilence + kBusy);
  }
}

TEST_F(SilentRelay, costs_nobody_who_needs_a_connection_that_others_have_had) {
  EXPECT_EQ(guard_.call({"EVAL", kScript, "0"}), ":1\r\n");
  const std::uint64_t made = redis_.calls("eval");
  let_pass(milliseconds(50));
  link_.forget_connections();
  const auto lost_at = SteadyClock::now();
  EXPECT_EQ(guard_.call({"EVAL", kScript, "0"}), ":1\r\n");
  EXPECT_LT(SteadyClock::now() - lost_at, kSilence + kBusy);
  EXPECT_EQ(redis_.calls("eval"), made + 1);
}

// Redis is there, and waits: nobody is closed for that, nor by what is opened meanwhile.
TEST_F(SilentRelay, is_not_what_a_redis_is_that_postpones_writes) {
  EXPECT_EQ(guard_.call({"SET", "k", "1"}), kOk);
  redis_.call({"CLIENT", "PAUSE", "8000", "WRITE"});
  std::vector<RawClient> writers;
  for (int i = 0; i < 100; ++i) {
    writers.push_back(asks(guard_, {"SET", "k", "1"}));
    EXPECT_EQ(guard_.call({"GET", "k"}), bulk("1"));
  }
  for (RawClient& writer : writers) {
    EXPECT_EQ(writer.read_reply(), kOk);
  }
}

struct InPrivateNetwork {
  PrivateNetwork network;
};

class LostNetwork : private InPrivateNetwork, public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { SKIP_IF_MISSING(PrivateNetwork::missing()); }
  void cut() { network.cut("127.0.0.1", redis_.port()); }
  void heal() { network.heal(); }

  RedisServer redis_;
  GuardProcess guard_ = GuardProcess::on_port(in_front_of(redis_.port(), GetParam()));
};

TEST_P(LostNetwork, ends_those_who_wait_on_it_as_a_restart_would) {
  RawClient client = guard_.client();
  EXPECT_EQ(client.call({"SET", "k", "1"}), kOk);
  cut();
  client.send(command({"GET", "k"}));
  const auto asked_at = SteadyClock::now();
  EXPECT_EQ(client.read_until_closed(), "");
  EXPECT_GE(SteadyClock::now() - asked_at, kSilence - milliseconds(100));
  // A new connection may be tried before.
  EXPECT_LT(SteadyClock::now() - asked_at, 2 * kSilence + kBusy);
  heal();
  EXPECT_EQ(guard_.call({"GET", "k"}), bulk("1"));
}

INSTANTIATE_TEST_SUITE_P(Modes, LostNetwork, testing::Values("shared", "pinned"));

// Nobody suspects a node within the test.
class OnePort : public testing::TestWithParam<const char*> {
 protected:
  static constexpr milliseconds kServedWithin{1000};  // far less than a node hangs for

  OnePort() {
    EXPECT_TRUE(eventually([this] { return knows_the_cluster(); })) << guard_.log();
  }

  bool knows_the_cluster() const {
    try {
      return client().call({"GET", keys_[0]}) == kNil;
    } catch (const std::runtime_error&) {  // closed
      return false;
    }
  }
  std::string yaml() const {
    return "listen: [ " + port_address(port_) + ", { nodes: '127.0.0.1:" + node_port_ + "-" +
           node_port_ + "' } ]\n" + "upstream: { cluster: [ " + cluster_.address(1) +
           " ], mode: " + GetParam() + " }\nworkers: 1\n";
  }
  RawClient client() const { return RawClient::to_port(port_); }
  // Of each master, as the slots are at first.
  static std::string key_of(std::size_t master) {
    return std::array{"{b}", "{c}", "{a}"}.at(master);
  }
  void expect_served(RawClient& client, std::initializer_list<std::string_view> arguments) {
    const auto asked_at = SteadyClock::now();
    const std::string reply = client.call(arguments);
    longest_ = std::max(longest_, SteadyClock::now() - asked_at);
    EXPECT_FALSE(reply.starts_with('-')) << reply;
  }

  RedisCluster cluster_{{.replicas = 0,
                         .node_timeout = milliseconds(60'000),
                         .arguments = {"--enable-debug-command", "yes"}}};
  std::array<std::string, 3> keys_{key_of(0), key_of(1), key_of(2)};
  std::uint16_t port_ = free_port();
  std::string node_port_ = std::to_string(free_port());
  GuardProcess guard_ = GuardProcess::on_port(yaml());
  SteadyClock::duration longest_{};
};

class OnePortInBothModes : public OnePort {};

TEST_P(OnePortInBothModes, has_a_node_that_hangs_hold_up_those_alone_who_need_it) {
  RawClient known = client();
  for (const std::string& key : keys_) {
    EXPECT_EQ(known.call({"SET", key, "1"}), kOk);
    EXPECT_EQ(known.call({"GET", key}), bulk("1"));
  }
  RawClient hangs = cluster_.node(0).client();
  hangs.send(command({"DEBUG", "SLEEP", "4"}));
  const auto hangs_until = SteadyClock::now() + milliseconds(3500);
  std::vector<RawClient> waiting;
  for (int i = 0; i < 4; ++i) {
    waiting.push_back(client());
    waiting.back().send(command({"GET", keys_[0]}));
  }
  int rounds = 0;
  for (; SteadyClock::now() < hangs_until; ++rounds) {
    expect_served(known, {"GET", keys_[1]});
    expect_served(known, {"SET", keys_[2], "1"});
    RawClient comes = client();
    expect_served(comes, {"CLIENT", "SETNAME", "web"});
    expect_served(comes, {"PING"});
    expect_served(comes, {"MULTI"});
    expect_served(comes, {"INCR", keys_[1] + "n"});
    expect_served(comes, {"EXEC"});
    expect_served(comes, {"MGET", keys_[1], keys_[2]});
  }
  EXPECT_GT(rounds, 3);
  EXPECT_LT(longest_, kServedWithin);
  for (RawClient& client : waiting) {
    EXPECT_EQ(client.read_reply(), bulk("1"));
  }
}

TEST_P(OnePort, has_a_slot_that_is_half_moved_hold_up_those_alone_who_need_it) {
  const std::string slot = cluster_.call(0, {"CLUSTER", "KEYSLOT", keys_[0]}).substr(1);
  const std::string number = slot.substr(0, slot.size() - 2);
  EXPECT_EQ(client().call({"SET", keys_[0] + "1", "1"}), kOk);
  EXPECT_EQ(client().call({"SET", keys_[0] + "2", "1"}), kOk);
  EXPECT_EQ(cluster_.call(1, {"CLUSTER", "SETSLOT", number, "IMPORTING", cluster_.id(0)}), kOk);
  EXPECT_EQ(cluster_.call(0, {"CLUSTER", "SETSLOT", number, "MIGRATING", cluster_.id(1)}), kOk);
  cluster_.call(
      0, {"MIGRATE", "127.0.0.1", std::to_string(cluster_.port(1)), keys_[0] + "1", "0", "5000"});
  RawClient other = client();
  std::vector<RawClient> waiting;
  for (int i = 0; i < 50; ++i) {
    waiting.push_back(client());
    waiting.back().send(command({"MGET", keys_[0] + "1", keys_[0] + "2"}));
    expect_served(other, {"GET", keys_[1]});
    expect_served(other, {"SET", key_of(0) + "2", "1"});
  }
  EXPECT_LT(longest_, milliseconds(250)) << "MGET is tried again for twice as long";
  for (RawClient& client : waiting) {
    EXPECT_TRUE(client.read_reply().starts_with("-TRYAGAIN"));
  }
}

// What is merged is kept meanwhile, and that has a limit.
TEST_P(OnePort, ends_who_asks_for_too_much_alone) {
  const std::string large(std::size_t{9} << 20U, 'x');
  RawClient one = client();
  std::vector<std::string> keys;
  for (const std::string& slot : {keys_[0], keys_[1], keys_[2]}) {
    for (const char* const name : {"x", "y", "z"}) {
      keys.push_back(slot + name);
      EXPECT_EQ(one.call({"SET", keys.back(), large}), kOk);
    }
  }
  std::vector<std::string_view> mget{"MGET"};
  mget.insert(mget.end(), keys.begin(), keys.end());
  RawClient other = client();
  EXPECT_EQ(other.call({"SET", keys_[1], "1"}), kOk);
  one.send(command(mget));
  EXPECT_EQ(one.read_until_closed(), "");
  for (const std::string& key : keys_) {
    EXPECT_EQ(other.call({"SET", key, "1"}), kOk);
    EXPECT_EQ(other.call({"GET", key}), bulk("1"));
  }
}

TEST_P(OnePort, tells_what_a_cluster_says_that_is_down) {
  RawClient known = client();
  EXPECT_EQ(known.call({"GET", keys_[0]}), kNil);
  for (std::size_t node = 0; node < cluster_.size(); ++node) {
    EXPECT_EQ(cluster_.call(node, {"CLUSTER", "DELSLOTS", "0"}), kOk);
  }
  EXPECT_TRUE(
      eventually([&] { return known.call({"GET", keys_[0]}).starts_with("-CLUSTERDOWN "); }));
  EXPECT_EQ(known.call({"PING"}), kPong);
  EXPECT_EQ(client().call({"PING"}), kPong);
  EXPECT_TRUE(client().call({"SET", keys_[1], "1"}).starts_with("-CLUSTERDOWN "));
  EXPECT_EQ(cluster_.call(0, {"CLUSTER", "ADDSLOTS", "0"}), kOk);
  EXPECT_TRUE(eventually([&] { return known.call({"GET", keys_[0]}) == kNil; }));
}

INSTANTIATE_TEST_SUITE_P(Modes, OnePort, testing::Values("shared"));
INSTANTIATE_TEST_SUITE_P(Modes, OnePortInBothModes, testing::Values("shared", "pinned"));

}  // namespace
}  // namespace cuckooguard::harness
