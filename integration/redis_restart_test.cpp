// Redis goes and comes, clients come and go: each sees what it would see without the guard, and
// absent keys are answered even while Redis is down.

#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "harness/ports.h"
#include "harness/redis_command.h"
#include "harness/shop.h"

namespace cuckooguard::harness {
namespace {

class RedisRestart : public testing::Test {
 protected:
  RedisRestart() { shop_.wait_until_it_answers(); }

  bool blocked_clients_are(std::string_view number) {
    return eventually([&] { return shop_.redis().info("clients", "blocked_clients") == number; });
  }

  Shop shop_;
};

TEST_F(RedisRestart, clients_are_closed_and_come_back_without_a_restart_of_the_guard) {
  for (int round = 0; round < 3; ++round) {
    RawClient waiting = shop_.client();
    waiting.send(command({"GET", absent_user()}) + command({"BLPOP", "queue", "0"}) +
                 command({"GET", absent_user()}));
    RawClient idle = shop_.client();
    EXPECT_EQ(idle.call({"PING"}), kPong);
    ASSERT_TRUE(blocked_clients_are("1"));
    shop_.redis().kill();
    EXPECT_EQ(waiting.read_until_closed(), absent_reply()) << "nothing that Redis has not said";
    if (upstream_mode() == "pinned") {
      EXPECT_EQ(idle.read_until_closed(), "");
    }

    // Down: absent keys are answered on new connections, what needs Redis closes them.
    for (int i = 0; i < 3; ++i) {
      RawClient client = shop_.client();
      EXPECT_EQ(
          client.exchange(command({"GET", absent_user()}) + command({"EXISTS", absent_user(1)}), 2),
          absent_reply() + ":0\r\n");
      EXPECT_EQ(client.call({"MGET", absent_user()}), "*1\r\n" + absent_reply());
      client.send(command({"GET", absent_user(2)}) + command({"GET", user(1)}) +
                  command({"GET", absent_user(3)}));
      EXPECT_EQ(client.read_until_closed(), absent_reply());
    }
    shop_.redis().start_again();
    RawClient again = shop_.client();
    EXPECT_EQ(again.exchange(command({"SET", user(1), "one"}) + command({"GET", user(1)}), 2),
              std::string(kOk) + bulk("one"));
    // It may be another Redis: it is asked first.
    EXPECT_TRUE(eventually([&] { return again.call({"GET", absent_user()}) == absent_reply(); }));
    if (upstream_mode() == "shared") {
      EXPECT_EQ(idle.call({"PING"}), kPong) << "nothing was lost for it";
    }
  }
}

TEST_F(RedisRestart, a_guard_started_before_redis_serves_when_redis_comes) {
  shop_.redis().stop();
  GuardProcess guard = GuardProcess::on_port(shop_.yaml());
  RawClient early = guard.client();
  early.send(command({"GET", user(1)}));
  EXPECT_EQ(early.read_until_closed(), "");
  shop_.redis().start_again();
  EXPECT_EQ(guard.call({"PING"}), kPong);
  // It does not know before it has asked whether the default user may read at all.
  EXPECT_TRUE(eventually([&guard] { return guard.call({"GET", absent_user()}) == absent_reply(); }))
      << guard.log();
}

TEST_F(RedisRestart, a_client_that_finishes_sending_gets_all_its_replies) {
  const std::vector<std::string> requests{
      "PING\r\n",
      command({"GET", absent_user()}),
      command({"GET", absent_user()}) + "PING\r\n" + command({"GET", absent_user()}),
      "",
      "*2\r\n$3\r\nGET\r\n$5\r\nuse",  // within a command
  };
  const std::vector<std::string> expected{std::string(kPong),
                                          absent_reply(),
                                          absent_reply() + std::string(kPong) + absent_reply(),
                                          "",
                                          ""};
  for (std::size_t i = 0; i < requests.size(); ++i) {
    for (int repeat = 0; repeat < 20; ++repeat) {
      RawClient client = shop_.client();
      client.send(requests[i]);
      client.finish_sending();
      EXPECT_EQ(client.read_until_closed(), expected[i]) << shown(requests[i]);
    }
  }
}

TEST(Addresses, unix_sockets_on_both_sides) {
  RedisServer* redis = nullptr;
  Shop shop({.on_unix_socket = true});
  redis = &shop.redis();
  const std::string tcp = redis->address();
  std::string yaml = shop.yaml();
  yaml.replace(yaml.find(tcp), tcp.size(), "unix:" + redis->unix_path().string());
  std::filesystem::path socket;
  {
    GuardProcess guard = GuardProcess::on_unix_socket(yaml);
    socket = guard.unix_path();
    ASSERT_TRUE(
        eventually([&guard] { return guard.call({"GET", absent_user()}) == absent_reply(); }));
    EXPECT_EQ(guard.call({"SET", user(1), "one"}), kOk);
    EXPECT_EQ(guard.call({"GET", user(1)}), bulk("one"));
    RawClient client = guard.client();
    EXPECT_TRUE(client.call({"CLIENT", "INFO"}).contains(redis->unix_path().string()));
    redis->kill();
    EXPECT_EQ(client.read_until_closed(), "");
    EXPECT_EQ(guard.call({"GET", absent_user()}), absent_reply());
    guard.send_signal(SIGTERM);
    EXPECT_EQ(guard.exit_code(), 0);
    EXPECT_FALSE(std::filesystem::exists(socket)) << "it has removed its socket";
  }
}

TEST(Addresses, a_socket_file_left_by_a_crash_is_replaced) {
  Shop shop({.on_unix_socket = true});
  shop.wait_until_it_answers();
  const std::filesystem::path socket = shop.guard().unix_path();
  const std::string yaml = "listen: unix:" + socket.string() + "\n" + shop.yaml();
  const TemporaryDirectory directory;
  write_whole_file(directory / "second.yaml", yaml);
  const Ended refused = run_guard({"--config", (directory / "second.yaml").string()});
  EXPECT_EQ(refused.exit_code, 1) << "one that is answered on is not taken";
  EXPECT_EQ(shop.guard().call({"PING"}), kPong);
  shop.guard().send_signal(SIGKILL);
  EXPECT_EQ(shop.guard().exit_code(), 128 + SIGKILL);
  EXPECT_TRUE(std::filesystem::exists(socket));
  ChildProcess second({guard_binary(), "--config", (directory / "second.yaml").string()},
                      {directory / "output", directory / "errors"});
  EXPECT_TRUE(eventually([&] {
    try {
      return shop.guard().call({"PING"}) == kPong;
    } catch (const std::exception&) {  // not yet
      return false;
    }
  }));
  second.send_signal(SIGTERM);
  EXPECT_EQ(second.exit_code(), 0);
}

TEST(Addresses, a_host_name_is_resolved) {
  Shop shop;
  const std::string tcp = shop.redis().address();
  std::string yaml = shop.yaml();
  yaml.replace(yaml.find(tcp), tcp.size(), "localhost:" + std::to_string(shop.redis().port()));
  GuardProcess guard = GuardProcess::on_port(yaml);
  EXPECT_EQ(guard.call({"SET", user(1), "one"}), kOk);
  EXPECT_TRUE(
      eventually([&guard] { return guard.call({"GET", absent_user()}) == absent_reply(); }));
}

// A failover by DNS. The guard's own lookups, not the test's: harness/moving_name.cpp stands
// between it and the resolver.
TEST(Addresses, a_name_that_moves_is_followed_by_the_next_connection) {
  if (under_sanitizer()) {
    GTEST_SKIP() << "a sanitizer's runtime must be loaded first";
  }
  Shop shop;
  RedisServer second;
  const TemporaryDirectory directory;
  const auto move_to = [&directory](const RedisServer& redis) {
    write_whole_file(directory / "port", std::to_string(redis.port()));
  };
  move_to(shop.redis());
  shop.redis().call({"SET", "who", "first"});
  second.call({"SET", "who", "second"});
  std::string yaml = shop.yaml();
  const std::string tcp = shop.redis().address();
  yaml.replace(yaml.find(tcp), tcp.size(), "server.moving:6379");
  // NOLINTBEGIN(concurrency-mt-unsafe): this program has one thread
  ::setenv("CUCKOOGUARD_MOVING_NAME", (directory / "port").c_str(), 1);
  ::setenv("LD_PRELOAD", CUCKOOGUARD_MOVING_NAME, 1);
  GuardProcess guard = GuardProcess::on_port(yaml);
  ::unsetenv("LD_PRELOAD");
  // NOLINTEND(concurrency-mt-unsafe)
  RawClient early = guard.client();
  EXPECT_EQ(early.call({"GET", "who"}), bulk("first"));
  move_to(second);
  if (upstream_mode() == "pinned") {
    EXPECT_EQ(guard.call({"GET", "who"}), bulk("second"));
    EXPECT_EQ(early.call({"GET", "who"}), bulk("first")) << "its connection is its own";
  }
  shop.redis().kill();
  if (upstream_mode() == "pinned") {
    EXPECT_EQ(early.read_until_closed(), "");
  }
  EXPECT_EQ(guard.call({"GET", "who"}), bulk("second"));
  EXPECT_TRUE(eventually([&guard] { return guard.call({"GET", absent_user()}) == absent_reply(); }))
      << "and the guard has asked the new one: " << guard.log();
}

TEST(Addresses, a_host_that_does_not_exist_closes_those_who_need_it) {
  Shop shop;
  const std::string tcp = shop.redis().address();
  std::string yaml = shop.yaml();
  yaml.replace(yaml.find(tcp), tcp.size(), "no-such-host.invalid:6379");
  GuardProcess guard = GuardProcess::on_port(yaml);
  RawClient client = guard.client();
  client.send("PING\r\n");
  EXPECT_EQ(client.read_until_closed(), "");
}

}  // namespace
}  // namespace cuckooguard::harness
