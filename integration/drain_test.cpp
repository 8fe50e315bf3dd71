// SIGTERM under load: every command that was accepted is carried out and replied to, and only then
// its client closed.

#include <csignal>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/admin_client.h"
#include "harness/counting_clients.h"
#include "harness/redis_command.h"
#include "harness/shop.h"

namespace cuckooguard::harness {
namespace {

using testing::HasSubstr;

constexpr std::string_view kPatient = "drain_timeout: 1h\n";
constexpr int kEndedNow = 1;

class Drain : public testing::Test {
 protected:
  // Of a guard that has begun to drain.
  static void drain(Shop& shop) {
    shop.guard().send_signal(SIGTERM);
    ASSERT_TRUE(eventually([&] { return shop.guard().log().contains("event=draining"); }));
  }
  static void expect_good_end(Shop& shop) {
    EXPECT_EQ(shop.guard().exit_code(), 0) << shop.guard().log();
    EXPECT_THAT(shop.guard().log(), HasSubstr("event=drained how=all_clients_done clients=0"));
  }
};

TEST_F(Drain, carries_out_every_command_that_it_replies_to_and_no_other) {
  Shop shop({.more = std::string(kPatient)});
  shop.wait_until_it_answers();
  shop.redis().call({"SET", user(1), "one"});
  CountingClients clients(8,
                          {.connect = [&shop] { return shop.client(); },
                           .existing_key = user(1),
                           .existing_reply = bulk("one"),
                           .absent_key = absent_user(),
                           .absent_replies = {absent_reply()}});
  ASSERT_TRUE(eventually([&clients] { return clients.replies() > 20'000; }));
  drain(shop);
  clients.stop();  // when they are closed
  expect_good_end(shop);
  for (const auto& client : clients.all()) {
    EXPECT_EQ(client->failure, "") << client->key;
    EXPECT_EQ(shop.redis().call({"GET", client->key}), bulk(std::to_string(client->replies)));
  }
}

TEST_F(Drain, says_not_ready_and_lets_nobody_in) {
  Shop shop({.more = std::string(kPatient) + "admin: { address: \"127.0.0.1:0\" }\n"});
  shop.wait_until_it_answers();
  const AdminClient admin(shop.guard());
  EXPECT_EQ(admin.get("/readyz").status, 200);
  RawClient client = shop.client();
  EXPECT_EQ(client.call({"MULTI"}), kOk);
  drain(shop);
  EXPECT_TRUE(eventually([&] { return admin.get("/readyz").status == 503; }));
  EXPECT_EQ(admin.get("/livez").status, 200);
  EXPECT_THROW(shop.client(), std::system_error);
  // Within a transaction it goes on as always.
  EXPECT_EQ(client.call({"INCR", "n"}), "+QUEUED\r\n");
  EXPECT_EQ(client.call({"EXEC"}), "*1\r\n:1\r\n");
  EXPECT_EQ(client.read_until_closed(), "");
  expect_good_end(shop);
}

TEST_F(Drain, answers_for_the_filter_to_its_end) {
  Shop shop({.more = std::string(kPatient)});
  shop.wait_until_it_answers();
  RawClient client = shop.client();
  const std::string get = command({"GET", absent_user()});
  EXPECT_EQ(client.call({"GET", absent_user()}), absent_reply());
  client.send(get.substr(0, 5));
  // The guard has read that when it has read what came behind it.
  EXPECT_EQ(shop.client().call({"PING"}), kPong);
  const std::uint64_t before = shop.redis().calls("get");
  drain(shop);
  client.send(get.substr(5));
  EXPECT_EQ(client.read_until_closed(), absent_reply());
  EXPECT_EQ(shop.redis().calls("get"), before);
  expect_good_end(shop);
}

TEST_F(Drain, is_not_held_up_by_those_who_wait_for_nothing) {
  Shop shop({.more = std::string(kPatient)});
  RawClient idle = shop.client();
  RawClient subscribed = shop.client();
  RawClient monitor = shop.client();
  EXPECT_EQ(idle.call({"PING"}), kPong);
  subscribed.call({"SUBSCRIBE", "news"});
  EXPECT_EQ(monitor.call({"MONITOR"}), kOk);
  drain(shop);
  EXPECT_EQ(idle.read_until_closed(), "");
  EXPECT_EQ(subscribed.read_until_closed(), "");
  monitor.read_until_closed();
  expect_good_end(shop);
}

TEST_F(Drain, waits_for_a_blocked_client_no_longer_than_drain_timeout) {
  Shop shop({.more = "drain_timeout: 300ms\n"});
  RawClient blocked = shop.client();
  blocked.send(command({"BLPOP", "queue", "0"}));
  ASSERT_TRUE(eventually([&] { return shop.redis().info("clients", "blocked_clients") == "1"; }));
  drain(shop);
  EXPECT_EQ(blocked.read_until_closed(), "");
  EXPECT_EQ(shop.guard().exit_code(), 0);
  EXPECT_THAT(shop.guard().log(), HasSubstr("event=drain_timeout clients=1"));
  EXPECT_THAT(shop.guard().log(), HasSubstr("event=drained how=timeout"));
  EXPECT_EQ(shop.redis().info("clients", "blocked_clients"), "0");
}

TEST_F(Drain, gives_a_blocked_client_what_comes_for_it_meanwhile) {
  Shop shop({.more = std::string(kPatient)});
  RawClient blocked = shop.client();
  blocked.send(command({"BLPOP", "queue", "0"}));
  ASSERT_TRUE(eventually([&] { return shop.redis().info("clients", "blocked_clients") == "1"; }));
  drain(shop);
  shop.redis().call({"RPUSH", "queue", "job"});
  EXPECT_EQ(blocked.read_until_closed(), "*2\r\n" + bulk("queue") + bulk("job"));
  expect_good_end(shop);
}

TEST_F(Drain, ends_at_once_at_the_second_signal) {
  Shop shop({.more = std::string(kPatient)});
  RawClient blocked = shop.client();
  blocked.send(command({"BLPOP", "queue", "0"}));
  ASSERT_TRUE(eventually([&] { return shop.redis().info("clients", "blocked_clients") == "1"; }));
  drain(shop);
  shop.guard().send_signal(SIGTERM);
  EXPECT_EQ(shop.guard().exit_code(), kEndedNow) << shop.guard().log();
  EXPECT_EQ(blocked.read_until_closed(), "");
}

TEST_F(Drain, is_left_out_with_a_timeout_of_0) {
  Shop shop({.more = "drain_timeout: 0s\n"});
  RawClient client = shop.client();
  EXPECT_EQ(client.call({"MULTI"}), kOk);
  shop.guard().send_signal(SIGINT);
  EXPECT_EQ(shop.guard().exit_code(), 0) << shop.guard().log();
  EXPECT_EQ(client.read_until_closed(), "");
}

}  // namespace
}  // namespace cuckooguard::harness
