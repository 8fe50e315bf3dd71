// Nobody waits for a neighbour: what is shared and says nothing more holds up those who wait for it
// already, for a time that is known, and nobody else.
//
// It falls silent in one of two ways: a relay acknowledges what it is sent and does nothing with it
// (SlowLink::forget_connections), or the network loses it without a word (PrivateNetwork).

#include <algorithm>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "fixtures/skip.h"
#include "harness/configuration.h"
#include "harness/guard_process.h"
#include "harness/private_network.h"
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

void let_pass(milliseconds time) {
  const auto at = SteadyClock::now() + time;
  (void)eventually([at] { return SteadyClock::now() >= at; });
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

}  // namespace
}  // namespace cuckooguard::harness
