// In `mode: shared` no byte that one client caused reaches another, except what Redis itself would
// send it; nobody gets in where Redis would not let a new client in; and nobody waits for what
// another one has asked for.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "harness/redis_command.h"
#include "harness/shop.h"

namespace cuckooguard::harness {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

const std::string kNoAuth = "-NOAUTH Authentication required.\r\n";

class Isolation : public testing::Test {
 protected:
  Isolation() { shop_.wait_until_it_answers(); }

  static ShopSettings settings() {
    ShopSettings settings;
    settings.mode = "shared";
    return settings;
  }
  RawClient direct() { return shop_.redis().client(); }
  RawClient user(std::string_view name, std::string_view version = "2") {
    RawClient client = shop_.client();
    EXPECT_FALSE(client.call({"HELLO", version, "AUTH", name, "word"}).starts_with('-'));
    return client;
  }

  Shop shop_{settings()};
};

// Mallory may do nothing but SET evil* and CLIENT TRACKING. The name of the key is what is pushed.
TEST_F(Isolation, pushes_that_somebody_redirects_to_a_shared_connection_reach_nobody) {
  RawClient admin = direct();
  admin.call({"ACL", "SETUSER", "alice", "on", ">word", "+@all", "~*"});
  admin.call(
      {"ACL", "SETUSER", "mallory", "on", ">word", "-@all", "+set", "+client|tracking", "~evil*"});
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::atomic<int> read{0};
  std::vector<std::thread> victims;
  for (const std::string name : {"one", "two"}) {
    victims.emplace_back([&, name] {
      RawClient client = user("alice", "3");
      client.call({"SET", name, name});
      while (!stop) {
        wrong += client.call({"GET", name}) == bulk(name) ? 0 : 1;
        ++read;
      }
    });
  }
  ASSERT_TRUE(eventually([&] { return read > 100; }));
  std::vector<RawClient> trackers;  // one of them straight at Redis
  for (int id = 1; id < 60; ++id) {
    trackers.push_back(id % 2 == 0 ? direct() : shop_.client());
    trackers.back().call({"AUTH", "mallory", "word"});
    trackers.back().call(
        {"CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", "evil", "REDIRECT", std::to_string(id)});
  }
  RawClient writer = shop_.client();
  writer.call({"AUTH", "mallory", "word"});
  std::string forged;
  for (int line = 0; line < 4000; ++line) {
    forged += "\r\n$3\r\nbad" + std::string(100, '+');
  }
  const int before = read;
  for (int round = 0; round < 10; ++round) {
    EXPECT_EQ(writer.call({"SET", "evil" + std::to_string(round) + forged, "x"}), kOk);
  }
  EXPECT_TRUE(eventually([&] { return read > before + 200; }));
  stop = true;
  for (std::thread& victim : victims) {
    victim.join();
  }
  EXPECT_EQ(wrong, 0);
}

struct Change {
  const char* what;
  std::vector<std::string_view> command;
};
const std::vector<Change>& changes() {
  static const std::vector<Change> kChanges{
      {"requirepass", {"CONFIG", "SET", "requirepass", "word"}},
      {"password", {"ACL", "SETUSER", "default", "resetpass", ">word"}},
      {"off", {"ACL", "SETUSER", "default", "off"}}};
  return kChanges;
}

// Also by an administrator whose replies are not read any more.
class PasswordSetHere : public Isolation, public testing::WithParamInterface<bool> {};

TEST_P(PasswordSetHere, holds_for_new_clients_at_once) {
  for (const Change& change : changes()) {
    RawClient old = shop_.client();
    old.call({"SET", "secret", "value"});
    RawClient leased = shop_.client();
    leased.exchange(command({"MULTI"}) + command({"GET", "secret"}) + command({"EXEC"}), 3);
    RawClient admin = shop_.client();
    if (GetParam()) {
      admin.exchange(command({"MULTI"}) + command({"SUBSCRIBE", "c"}) + command({"DISCARD"}), 3);
    }
    EXPECT_EQ(admin.exchange(command(change.command), 1), kOk) << change.what;
    for (const std::string& first : {command({"GET", "secret"}),
                                     command({"MULTI"}),
                                     command({"SET", "secret", "mine"}),
                                     command({"FLUSHALL"})}) {
      RawClient client = shop_.client();
      EXPECT_EQ(client.exchange(first, 1), kNoAuth) << change.what << ": " << first;
    }
    EXPECT_TRUE(shop_.client().call({"HELLO", "3"}).starts_with("-NOAUTH")) << change.what;
    EXPECT_EQ(old.call({"GET", "secret"}), bulk("value")) << "Redis would let it stay, too";
    shop_.redis().kill();
    shop_.redis().start_again();
    EXPECT_TRUE(eventually([&] { return shop_.client().call({"PING"}) == kPong; }));
  }
}

INSTANTIATE_TEST_SUITE_P(Replies, PasswordSetHere, testing::Bool(), [](const auto& unread) {
  return unread.param ? "unread" : "read";
});

TEST_F(Isolation, a_password_that_is_set_behind_the_guard_holds_for_new_clients_within_a_second) {
  RawClient old = shop_.client();
  old.call({"SET", "secret", "value"});
  RawClient admin = direct();
  ASSERT_EQ(admin.call({"CONFIG", "SET", "requirepass", "word"}), kOk);
  const auto set = Clock::now();
  // Asked all the time: each may be let in by what was known before, but not for long.
  while (Clock::now() - set < milliseconds(1100)) {
    shop_.client().call({"GET", "secret"});
  }
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(shop_.client().call({"GET", "secret"}), kNoAuth);
  }
  EXPECT_EQ(old.call({"GET", "secret"}), bulk("value"));
}

TEST_F(Isolation, reset_takes_the_login_away) {
  RawClient old = shop_.client();
  old.call({"SET", "secret", "value"});
  ASSERT_EQ(shop_.client().call({"CONFIG", "SET", "requirepass", "word"}), kOk);
  RawClient client = shop_.client();
  EXPECT_EQ(client.call({"AUTH", "word"}), kOk);
  EXPECT_EQ(client.call({"GET", "secret"}), bulk("value"));
  EXPECT_EQ(client.call({"RESET"}), "+RESET\r\n");
  EXPECT_EQ(client.call({"GET", "secret"}), kNoAuth);
  EXPECT_EQ(old.call({"RESET"}), "+RESET\r\n");
  EXPECT_EQ(old.call({"GET", "secret"}), kNoAuth) << "it has become a new client";
}

// A db that was selected before AUTH, a version that the user may not ask for.
TEST_F(Isolation, a_user_that_cannot_be_set_up_again_keeps_its_connection) {
  RawClient admin = direct();
  admin.call({"ACL", "SETUSER", "bob", "on", ">word", "~*", "+@all", "-select", "-hello"});
  RawClient client = shop_.client();
  EXPECT_EQ(client.exchange(command({"HELLO", "3"}), 1).substr(0, 1), "%");
  EXPECT_EQ(client.call({"SELECT", "2"}), kOk);
  EXPECT_EQ(client.call({"AUTH", "bob", "word"}), kOk);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(client.call({"SET", "k", std::to_string(i)}), kOk);
    EXPECT_EQ(client.call({"GET", "k"}), bulk(std::to_string(i)));
    EXPECT_EQ(client.exchange(command({"MULTI"}) + command({"GET", "k"}) + command({"EXEC"}), 3),
              "+OK\r\n+QUEUED\r\n*1\r\n" + bulk(std::to_string(i)));
  }
  EXPECT_TRUE(client.call({"SELECT", "1"}).starts_with("-NOPERM"));
}

TEST_F(Isolation, a_script_that_hangs_can_be_killed_and_costs_nobody_its_connection) {
  RawClient one = shop_.client();
  EXPECT_EQ(one.call({"SELECT", "9"}), kOk);
  EXPECT_EQ(one.call({"SET", "x", "1"}), kOk);
  EXPECT_EQ(one.call({"GET", "x"}), bulk("1"));
  EXPECT_EQ(one.call({"CONFIG", "SET", "lua-time-limit", "10"}), kOk);
  RawClient script = shop_.client();
  script.send(command({"EVAL", "while true do end", "0"}));
  EXPECT_TRUE(eventually([&] { return one.call({"GET", "x"}).starts_with("-BUSY"); }));
  RawClient other = shop_.client();
  EXPECT_TRUE(other.call({"GET", "x"}).starts_with("-BUSY"));
  EXPECT_TRUE(one.call({"EVAL", "return 1", "0"}).starts_with("-BUSY"));
  EXPECT_EQ(one.call({"SCRIPT", "KILL"}), kOk);
  EXPECT_TRUE(script.read_reply().starts_with('-'));
  EXPECT_EQ(one.call({"EVAL", "return 1", "0"}), ":1\r\n");
  EXPECT_EQ(one.call({"GET", "x"}), bulk("1"));
  EXPECT_EQ(other.call({"GET", "x"}), kNil);
}

// As a failover does.
TEST_F(Isolation, a_pause_of_writes_keeps_nobody_from_reading) {
  RawClient admin = direct();
  ASSERT_EQ(admin.call({"CLIENT", "PAUSE", "60000", "WRITE"}), kOk);
  std::vector<RawClient> writers;
  for (int i = 0; i < 20; ++i) {
    writers.push_back(shop_.client());
    writers.back().send(command({"SET", "k", "v"}));
  }
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(shop_.client().call({"GET", "k"}), kNil);
  }
  admin.call({"CLIENT", "UNPAUSE"});
  for (RawClient& writer : writers) {
    EXPECT_EQ(writer.read_reply(), kOk);
  }
}

TEST_F(Isolation, one_clients_large_values_do_not_hold_up_the_others) {
  RawClient admin = direct();
  std::string big;
  big.resize(20'000'000, 'x');
  admin.call({"SET", "big", big});
  admin.call({"SET", "small", "v"});
  std::vector<milliseconds> medians;
  for (const bool is_direct : {true, false}) {
    std::atomic<bool> stop{false};
    std::atomic<int> rounds{0};
    std::thread hog([&] {
      RawClient client = is_direct ? direct() : shop_.client();
      while (!stop) {
        client.call({"GET", "big"});
        ++rounds;
      }
    });
    RawClient reader = is_direct ? direct() : shop_.client();
    std::vector<Clock::duration> times;
    while (rounds < 15) {
      const auto asked = Clock::now();
      EXPECT_EQ(reader.call({"GET", "small"}), bulk("v"));
      times.push_back(Clock::now() - asked);
    }
    stop = true;
    hog.join();
    std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
    medians.push_back(
        std::chrono::ceil<milliseconds>(times[times.size() / 2]));  // a quick one is 1 ms
  }
  EXPECT_LE(medians[1].count(), 3 * medians[0].count());
}

TEST_F(Isolation, a_redis_that_hangs_sees_few_connections_and_loses_nobody) {
  RawClient first = shop_.client();
  first.call({"SET", "k", "v"});
  const std::size_t before = std::stoull(shop_.redis().info("clients", "connected_clients"));
  RawClient blocker = direct();
  blocker.send(command({"DEBUG", "SLEEP", "1.5"}));
  std::vector<RawClient> clients;
  for (int i = 0; i < 50; ++i) {
    clients.push_back(shop_.client());
    clients.back().send(command({i % 2 == 0 ? "GET" : "INCR", "n"}));
  }
  EXPECT_EQ(blocker.read_reply(), kOk);
  for (RawClient& client : clients) {
    EXPECT_FALSE(client.read_reply().starts_with('-'));
  }
  EXPECT_LE(std::stoull(shop_.redis().info("clients", "connected_clients")), before + 10)
      << "two workers: for reads, for writes, a spare for each; and the question";
}

}  // namespace
}  // namespace cuckooguard::harness
