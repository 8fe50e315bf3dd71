// What Redis refuses changes nothing in the guard, whoever repeats it how often; what Redis has
// carried out counts at once, and within a second if it was done behind the guard's back. Nobody
// has the benefit of the doubt.
//
// The guard's answer, __ABSENT__, is one that Redis never gives; how many reads have reached Redis
// says Redis itself.

#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/redis_command.h"
#include "harness/shop.h"

namespace cuckooguard::harness {
namespace {

using testing::StartsWith;

constexpr int kReads = 3000;
constexpr std::uint64_t kFew = kReads / 100;  // less than 1 %

// Repeats one command on a connection of its own, until the end.
class Repeating {
 public:
  Repeating(const Shop& shop, std::string request)
      : thread_([client = shop.client(),
                 request = std::move(request)](const std::stop_token& stop) mutable {
          while (!stop.stop_requested()) {
            client.exchange(request, 1);
          }
        }) {}

 private:
  std::jthread thread_;
};

class Rights : public testing::TestWithParam<std::string> {
 protected:
  static ShopSettings with_password() {
    return {.mode = GetParam(),
            .control = "password: word",
            .redis_arguments = {"--requirepass", "word", "--user", "low", "on", ">low", "+ping"},
            .password = "word"};
  }
  // Logged in, and answered.
  static RawClient app_of(const Shop& shop) {
    RawClient app = shop.client();
    EXPECT_EQ(app.call({"AUTH", "word"}), kOk);
    EXPECT_TRUE(eventually([&] { return app.exchange(get_absent(), 1) == absent_reply(); }));
    return app;
  }
  static std::uint64_t reads_that_reach_redis(Shop& shop, RawClient& client) {
    const std::uint64_t before = shop.redis().calls("get");
    for (int i = 0; i < kReads; ++i) {
      client.call({"GET", absent_user(static_cast<std::uint64_t>(i))});
    }
    return shop.redis().calls("get") - before;
  }
};

TEST_P(Rights, are_not_changed_by_clients_without_login_that_repeat_what_is_refused) {
  Shop shop(with_password());
  RawClient app = app_of(shop);
  for (const std::string& request :
       {command({"ACL", "X"}), command({"CONFIG", "SET", "requirepass", ""})}) {
    const Repeating first(shop, request);
    const Repeating second(shop, request);
    const Repeating third(shop, request);
    EXPECT_LT(reads_that_reach_redis(shop, app), kFew) << shown(request);
  }
}

TEST_P(Rights, are_not_changed_by_a_user_without_any_that_is_refused_and_idles) {
  Shop shop(with_password());
  RawClient app = app_of(shop);
  RawClient low = shop.client();
  ASSERT_EQ(low.call({"AUTH", "low", "low"}), kOk);
  std::string requests;
  for (int i = 0; i < 1500; ++i) {
    requests += command({"ACL", "SETUSER", "low", "+@all"});
  }
  low.exchange(requests, 1500);
  EXPECT_LT(reads_that_reach_redis(shop, app), kFew);
  low.send(requests);  // and does not wait for the replies
  EXPECT_LT(reads_that_reach_redis(shop, app), kFew);
}

TEST_P(Rights, are_not_doubted_in_favour_of_who_is_refused) {
  Shop shop(with_password());
  RawClient app = app_of(shop);
  RawClient low = shop.client();
  ASSERT_EQ(low.call({"AUTH", "low", "low"}), kOk);
  for (std::uint64_t i = 0; i < 20; ++i) {
    low.send(command({"ACL", "X"}) + command({"GUARD.ADD", absent_user(i)}) +
             command({"GUARD.CHECK", absent_user(i)}));
    EXPECT_THAT(low.read_reply(), StartsWith("-")) << "ACL X";
    EXPECT_THAT(low.read_reply(), StartsWith("-NOPERM ")) << "GUARD.ADD";
    EXPECT_THAT(low.read_reply(), StartsWith("-NOPERM ")) << "GUARD.CHECK";
    EXPECT_EQ(app.call({"GET", absent_user(i)}), absent_reply());
  }
}

TEST_P(Rights, of_a_user_who_has_just_logged_in_are_waited_for) {
  Shop shop(with_password());
  app_of(shop);
  for (int i = 0; i < 20; ++i) {
    const std::string name = "new" + std::to_string(i);
    shop.redis().call({"ACL", "SETUSER", name, "on", ">word", "+@read", "~*"});
    RawClient client = shop.client();
    EXPECT_EQ(client.exchange(command({"AUTH", name, "word"}) +
                                  command({"GUARD.CHECK", absent_user(), user(1)}) + get_absent(),
                              3),
              "+OK\r\n*2\r\n:0\r\n:1\r\n" + absent_reply());
  }
}

TEST_P(Rights, that_a_password_has_ended_behind_the_guard_are_over_within_a_second) {
  Shop shop({.mode = GetParam(), .control = "password: word"});
  shop.wait_until_it_answers();
  RawClient before = shop.client();
  ASSERT_EQ(before.exchange(get_absent(), 1), absent_reply());
  RawClient straight = shop.redis().client();
  const auto changed = SteadyClock::now();
  ASSERT_EQ(straight.call({"CONFIG", "SET", "requirepass", "word"}), kOk);
  auto last = changed;
  while (SteadyClock::now() < changed + milliseconds(2500)) {
    RawClient after = shop.client();
    for (RawClient* const client : {&before, &after}) {
      last = client->exchange(get_absent(), 1) == absent_reply() ? SteadyClock::now() : last;
    }
  }
  EXPECT_LT(last - changed, milliseconds(1000));
  straight.call({"CONFIG", "SET", "requirepass", ""});
}

TEST_P(Rights, of_others_are_not_changed_by_errors_that_a_script_makes_up) {
  Shop shop({.mode = GetParam()});
  shop.wait_until_it_answers();
  RawClient app = shop.client();
  for (const char* const error : {"BUSY x", "LOADING x", "MASTERDOWN x"}) {
    const Repeating liar(
        shop, command({"EVAL", "return redis.error_reply('" + std::string(error) + "')", "0"}));
    EXPECT_LT(reads_that_reach_redis(shop, app), kFew) << error;
  }
}

TEST_P(Rights, that_are_taken_through_the_guard_are_gone_with_redis_yes) {
  Shop shop({.mode = GetParam()});
  shop.wait_until_it_answers();
  shop.redis().call({"ACL", "SETUSER", "bob", "on", ">word", "+@all", "~*"});
  RawClient bob = shop.client();
  RawClient other = shop.client();
  for (RawClient* const client : {&bob, &other}) {
    ASSERT_EQ(client->call({"AUTH", "bob", "word"}), kOk);
  }
  for (int round = 0; round < 30; ++round) {
    for (RawClient* const client : {&bob, &other}) {
      ASSERT_TRUE(eventually([&] { return client->exchange(get_absent(), 1) == absent_reply(); }))
          << round;
    }
    bob.send(command({"ACL", "SETUSER", "bob", "-get"}) + get_absent());
    ASSERT_EQ(bob.read_reply(), kOk);
    ASSERT_THAT(other.exchange(get_absent(), 1), StartsWith("-NOPERM ")) << round;
    ASSERT_THAT(bob.read_reply(), StartsWith("-NOPERM ")) << round;
    ASSERT_EQ(bob.call({"ACL", "SETUSER", "bob", "+get"}), kOk);
  }
}

TEST_P(Rights, that_cannot_be_known_are_told_so_and_why) {
  Shop shop({.mode = GetParam(),
             .control = "username: ops, password: word",
             .redis_arguments = {"--user", "ops", "on", ">word", "+ping"}});
  RawClient client = shop.client();
  const std::string refused =
      "-ERR rights unknown: Redis does not let the guard read user permissions (see "
      "upstream.control): NOPERM ";
  EXPECT_TRUE(
      eventually([&] { return client.call({"GUARD.CHECK", absent_user()}).starts_with(refused); }));
  EXPECT_THAT(client.call({"GUARD.ADD", absent_user()}), StartsWith(refused));
  EXPECT_THAT(client.call({"GUARD.EXPLAIN", absent_user()}), StartsWith(refused));
  EXPECT_THAT(client.call({"GUARD.INFO"}), StartsWith("$")) << "needs a login alone";
}

TEST_P(Rights, are_unknown_of_a_redis_that_is_silent) {
  Shop shop({.mode = GetParam()});
  shop.wait_until_it_answers();
  RawClient client = shop.client();
  ASSERT_EQ(client.call({"GUARD.CHECK", absent_user()}), "*1\r\n:0\r\n");
  ::kill(shop.redis().pid(), SIGSTOP);
  EXPECT_TRUE(eventually([&] {
    return client.call({"GUARD.CHECK", absent_user()}).starts_with("-ERR rights unknown: Redis ");
  }));
  EXPECT_THAT(shop.client().call({"GUARD.ADD", absent_user()}), StartsWith("-ERR rights unknown: "))
      << "nor is a new client believed";
  ::kill(shop.redis().pid(), SIGCONT);
  EXPECT_TRUE(eventually([&] { return client.exchange(get_absent(), 1) == absent_reply(); }));
}

TEST_P(Rights, of_ordinary_clients_do_not_fill_an_overlay_for_longer_than_its_ttl) {
  Shop shop({.max_lag = "2s",
             .mode = GetParam(),
             .overlay = "{ pass_at_start: false, ttl: 1h, max_keys: 1000 }",
             .more = "admin: { operators: default }\n"});
  shop.wait_until_it_answers();
  RawClient client = shop.client();
  EXPECT_EQ(
      client.call({"GUARD.ADD", absent_user(), "TTL", "86400"}),
      "-ERR invalid TTL in 'guard.add' command: overlay.ttl of namespace 'users' is 3600 s\r\n");
  std::string requests;
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    requests += command({"GUARD.ADD", absent_user(kReads + i)});
  }
  client.exchange(requests, 20'000);
  EXPECT_GT(reads_that_reach_redis(shop, client), kReads / 10) << "it is full";
  EXPECT_EQ(client.call({"GUARD.CLEAR", "users"}), kOk);
  EXPECT_TRUE(eventually([&] { return reads_that_reach_redis(shop, client) < kFew; }));
}

INSTANTIATE_TEST_SUITE_P(, Rights, testing::Values("shared", "pinned"), [](const auto& mode) {
  return mode.param;
});

}  // namespace
}  // namespace cuckooguard::harness
