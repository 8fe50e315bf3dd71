// What is bounded, and what happens at the bound.

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "fixtures/skip.h"
#include "harness/admin_client.h"
#include "harness/redis_command.h"
#include "harness/shop.h"

namespace cuckooguard::harness {
namespace {

TEST(Limits, one_client_too_many_gets_redis_own_text_and_is_closed) {
  constexpr std::size_t kClients = 3;
  RedisServer full({"--maxclients", "1"});
  RawClient only = full.client();
  const std::string refusal = RawClient::to_port(full.port()).read_until_closed();
  ASSERT_TRUE(refusal.starts_with("-ERR ")) << shown(refusal);

  Shop shop({.more = "limits: { max_clients: 3 }\n" + std::string(kAdmin)});
  std::vector<RawClient> clients;
  clients.reserve(kClients);
  for (std::size_t i = 0; i < kClients; ++i) {
    clients.push_back(shop.client());
    EXPECT_EQ(clients.back().call({"PING"}), kPong);
  }
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(shop.client().read_until_closed(), refusal);
  }
  EXPECT_NE(AdminClient(shop.guard())
                .get("/metrics")
                .body.find("\ncuckooguard_refused_clients_total 10\n"),
            std::string::npos);
  for (RawClient& client : clients) {
    EXPECT_EQ(client.call({"PING"}), kPong) << "those inside are not touched";
  }
  clients.pop_back();
  EXPECT_TRUE(eventually([&shop] {
    try {
      return shop.guard().call({"PING"}) == kPong;
    } catch (const std::exception&) {  // refused, and closed before the command was sent
      return false;
    }
  })) << "a place that is free is given to the next";
}

TEST(Limits, a_redis_that_is_full_says_so_through_the_guard) {
  Shop shop;
  shop.wait_until_it_answers();
  shop.redis().call({"CONFIG", "SET", "maxclients", "1"});  // the control connection has it
  RawClient client = shop.client();
  // Who shares connections is told so with the first command, and may try again.
  client.try_send(command({"PING"}));
  EXPECT_EQ(upstream_mode() == "shared" ? client.read_reply() : client.read_until_closed(),
            "-ERR max number of clients reached\r\n");
}

// Without descriptors it cannot even refuse: those who come wait, nobody inside notices, and the
// log has one line.
TEST(Limits, without_descriptors_clients_wait_until_there_are_some) {
  if (sanitizers().contains("undefined")) {
    GTEST_SKIP() << "UBSan's vptr check needs a pipe: without descriptors it takes every object "
                    "for a wrong one";
  }
  Shop shop;
  shop.wait_until_it_answers();
  RawClient inside = shop.client();
  EXPECT_EQ(inside.call({"PING"}), kPong);
  const pid_t guard = shop.guard().pid();
  rlimit before{};
  ASSERT_EQ(::prlimit(guard, RLIMIT_NOFILE, nullptr, &before), 0);
  rlimit none = before;
  none.rlim_cur = 3;
  ASSERT_EQ(::prlimit(guard, RLIMIT_NOFILE, &none, nullptr), 0);
  RawClient waiting = shop.client();
  waiting.send(command({"PING"}));
  ASSERT_TRUE(eventually([&shop] { return shop.guard().log().contains("event=accept_failed"); }));
  for (int i = 0; i < 500; ++i) {  // meanwhile
    ASSERT_EQ(inside.exchange(command({"GET", absent_user()}) + command({"PING"}), 2),
              absent_reply() + std::string(kPong));
  }
  ASSERT_EQ(::prlimit(guard, RLIMIT_NOFILE, &before, nullptr), 0);
  EXPECT_EQ(waiting.read_reply(), kPong);
  const std::string log = shop.guard().log();
  EXPECT_EQ(log.find("event=accept_failed"), log.rfind("event=accept_failed")) << log;
}

TEST(Limits, an_idle_client_takes_little_memory) {
  constexpr std::size_t kClients = 1000;
  constexpr std::size_t kBytesEach = std::size_t{8} * 1024;
  SKIP_UNLESS(raise_descriptor_limit() >= 4 * kClients,
              "this shell allows too few open files for 1000 clients");
  Shop shop;
  shop.wait_until_it_answers();
  const auto use = [&shop](std::vector<RawClient>& clients) {
    for (RawClient& client : clients) {
      // Each has done something of every kind, and is idle again.
      EXPECT_EQ(client.exchange(command({"GET", absent_user()}) + command({"PING"}), 2),
                absent_reply() + std::string(kPong));
    }
  };
  std::vector<RawClient> few;
  few.push_back(shop.client());
  use(few);
  const std::size_t before = shop.guard().resident_bytes();
  std::vector<RawClient> clients;
  clients.reserve(kClients);
  for (std::size_t i = 0; i < kClients; ++i) {
    clients.push_back(shop.client());
  }
  use(clients);
  const std::size_t after = shop.guard().resident_bytes();
  std::printf("%zu bytes for each of %zu idle clients\n", (after - before) / kClients, kClients);
  if (!under_sanitizer()) {
    EXPECT_LT((after - before) / kClients, kBytesEach);
  }
}

TEST(Limits, above_the_commands_in_flight_all_is_forwarded_and_in_order) {
  Shop shop({.more = "limits: { inflight_per_client: 8 }\n"});
  shop.wait_until_it_answers();
  shop.redis().call({"SET", user(1), "one"});
  const std::string absent = shop.find_absent_users(1).front();
  constexpr std::size_t kPairs = 50;
  RawClient client = shop.client();
  std::string request = command({"BLPOP", "queue", "0"});  // nothing behind it is replied to yet
  for (std::size_t i = 0; i < kPairs; ++i) {
    request += command({"GET", absent}) + command({"GET", user(1)});
  }
  client.send(request);
  ASSERT_TRUE(
      eventually([&shop] { return shop.redis().info("clients", "blocked_clients") == "1"; }));
  shop.redis().call({"RPUSH", "queue", "x"});
  EXPECT_EQ(client.read_reply(), "*2\r\n" + bulk("queue") + bulk("x"));
  std::size_t answered = 0;
  for (std::size_t i = 0; i < kPairs; ++i) {
    const std::string reply = client.read_reply();
    EXPECT_TRUE(reply == absent_reply() || reply == kNil) << shown(reply);
    answered += reply == absent_reply() ? 1 : 0;
    EXPECT_EQ(client.read_reply(), bulk("one")) << i;
  }
  EXPECT_GE(answered, 1U);
  EXPECT_LE(answered, 8U);
  EXPECT_EQ(client.call({"GET", absent}), absent_reply()) << "and below it again";
}

// Answers wait for the reply before them: the bytes that wait are bounded, however small their
// number of runs. (Held without a bound these would be 20 MB.)
TEST(Limits, answers_held_behind_a_blocking_command_are_bounded) {
  const std::string text(200, 'a');
  Shop shop({.absent_reply = "bytes:" + text, .more = "limits: { client_output_soft: 64KiB }\n"});
  shop.wait_until_it_answers();
  constexpr std::size_t kReads = 100'000;
  std::string request = command({"BLPOP", "queue", "0"});
  for (std::size_t i = 0; i < kReads; ++i) {
    request += command({"GET", absent_user()});
  }
  const std::size_t before = shop.guard().resident_bytes_max();
  RawClient client = shop.client();
  client.send(request);
  ASSERT_TRUE(
      eventually([&shop] { return shop.redis().info("clients", "blocked_clients") == "1"; }));
  shop.redis().call({"RPUSH", "queue", "x"});
  EXPECT_EQ(client.read_reply(), "*2\r\n" + bulk("queue") + bulk("x"));
  std::size_t answered = 0;
  for (std::size_t i = 0; i < kReads; ++i) {
    const std::string reply = client.read_reply();
    ASSERT_TRUE(reply == kNil || reply == bulk(text)) << i << ": " << shown(reply);
    answered += reply == kNil ? 0 : 1;
  }
  std::printf("%zu absents, answered here: %zu\n", kReads, answered);
  EXPECT_GT(answered, 100U);
  if (!under_sanitizer()) {
    EXPECT_LT(shop.guard().resident_bytes_max(), before + std::size_t{8} * 1024 * 1024);
  }
  EXPECT_EQ(client.call({"GET", absent_user()}), bulk(text)) << "and answers again after it";
}

// A change of the connection whose reply there is no room to wait for: what follows is relayed, in
// order.
TEST(Limits, above_the_commands_in_flight_a_change_of_the_connection_is_relayed) {
  Shop shop({.more = "limits: { inflight_per_client: 4 }\n"});
  shop.wait_until_it_answers();
  RawClient client = shop.client();
  std::string request;
  std::string expected;
  constexpr int kRounds = 1000;  // many more than the 400 that are followed
  for (int i = 0; i < kRounds; ++i) {
    request +=
        command({"SELECT", "1"}) + command({"SELECT", "0"}) + command({"ECHO", std::to_string(i)});
    expected += std::string(kOk) + std::string(kOk) + bulk(std::to_string(i));
  }
  EXPECT_EQ(client.exchange(request, std::size_t{3} * kRounds), expected);
  EXPECT_EQ(client.call({"PING"}), kPong);
}

}  // namespace
}  // namespace cuckooguard::harness
