// The guard answers only a user who may do everything. (The states of a connection have files of
// their own.)
//
// Its answer, __ABSENT__, is one that Redis never gives: wherever Redis's own bytes are due, it
// would show.

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "harness/redis_command.h"
#include "harness/shop.h"

namespace cuckooguard::harness {
namespace {

ShopSettings behind_a_password(std::string control) {
  return {.control = std::move(control),
          .redis_arguments = {"--requirepass", "word"},
          .password = "word"};
}

class WrongClient : public testing::Test {
 protected:
  WrongClient() {
    shop_.wait_until_it_answers();
    shop_.redis().call({"SET", user(1), "one"});
  }

  void expect_answering() { EXPECT_EQ(client_.exchange(get_absent(), 1), absent_reply()); }

  Shop shop_;
  RawClient client_ = shop_.client();
};

TEST_F(WrongClient, whose_user_is_restricted_gets_redis_refusal) {
  shop_.redis().call({"ACL", "SETUSER", "reader", "on", ">word", "~user:1", "+@read"});
  expect_answering();
  EXPECT_EQ(client_.call({"AUTH", "reader", "word"}), kOk);
  EXPECT_TRUE(client_.exchange(get_absent(), 1).starts_with("-NOPERM"));
  EXPECT_EQ(client_.call({"GET", user(1)}), bulk("one"));
  EXPECT_TRUE(client_.call({"AUTH", "reader", "wrong"}).starts_with("-WRONGPASS"));
  EXPECT_TRUE(client_.exchange(get_absent(), 1).starts_with("-NOPERM"));
}

TEST_F(WrongClient, who_became_a_restricted_user_by_a_refused_hello_gets_redis_refusal) {
  shop_.redis().call({"ACL", "SETUSER", "reader", "on", ">word", "~user:1", "+@read"});
  expect_answering();
  RawClient straight = shop_.redis().client();
  for (RawClient* const client : {&client_, &straight}) {
    const std::string replies =
        client->exchange(command({"MULTI", "x"}) +
                             command({"HELLO", "3", "AUTH", "reader", "word", "SETNAME", "a b"}),
                         2);
    EXPECT_TRUE(replies.starts_with("-")) << shown(replies);
  }
  // Redis 7.0 has taken the AUTH; newer servers look at all of HELLO first.
  EXPECT_EQ(client_.exchange(get_absent(), 1), straight.exchange(get_absent(), 1));
}

TEST(WrongClientBehindAPassword, is_refused_before_auth_and_answered_after_it) {
  Shop shop(behind_a_password("password: word"));
  ASSERT_TRUE(eventually([&shop] {
    RawClient client = shop.client();
    client.call({"AUTH", "word"});
    return shop.answers_absent(client);
  }));
  RawClient client = shop.client();
  const std::string refused = client.exchange(get_absent() + command({"EXISTS", absent_user()}), 2);
  EXPECT_EQ(refused, "-NOAUTH Authentication required.\r\n-NOAUTH Authentication required.\r\n");
  EXPECT_TRUE(client.call({"AUTH", "wrong"}).starts_with("-WRONGPASS"));
  EXPECT_TRUE(client.exchange(get_absent(), 1).starts_with("-NOAUTH"));
  EXPECT_EQ(client.call({"AUTH", "default", "word"}), kOk);
  EXPECT_EQ(client.exchange(get_absent(), 1), absent_reply());
  EXPECT_EQ(client.call({"RESET"}), "+RESET\r\n");
  EXPECT_TRUE(client.exchange(get_absent(), 1).starts_with("-NOAUTH"));
  EXPECT_TRUE(client.call({"HELLO", "3", "AUTH", "default", "word"}).starts_with("%"));
  EXPECT_EQ(client.exchange(get_absent(), 1), absent_reply());
}

TEST(WrongClientBehindAPassword, is_never_answered_if_the_guard_may_not_ask_who_it_is) {
  Shop shop(behind_a_password(""));
  // The control connection has asked, and was refused.
  ASSERT_TRUE(
      eventually([&shop] { return !shop.redis().info("errorstats", "errorstat_NOAUTH").empty(); }));
  RawClient client = shop.client();
  EXPECT_TRUE(client.exchange(get_absent(), 1).starts_with("-NOAUTH"));
  EXPECT_EQ(client.call({"AUTH", "word"}), kOk);
  EXPECT_EQ(client.exchange(get_absent(), 1), kNil);
}

TEST(WrongClientOfARestrictedDefaultUser, is_never_answered) {
  const std::vector<std::vector<std::string>> restrictions{
      {"--user", "default", "on", "nopass", "~us?r:*", "&*", "+@all"},     // not surely every key
      {"--user", "default", "on", "nopass", "~*", "&*", "+@all", "-acl"},  // it cannot be asked
  };
  for (const auto& restriction : restrictions) {
    Shop shop({.redis_arguments = restriction});
    ASSERT_TRUE(eventually([&shop] { return shop.redis().calls("hello") > 0; }));
    ASSERT_TRUE(eventually([&shop] { return shop.guard().log().contains("event=upstream_up"); }));
    EXPECT_EQ(shop.guard().call({"GET", absent_user()}), kNil) << restriction.back();
  }
}

}  // namespace
}  // namespace cuckooguard::harness
