// The guard answers only where Redis would have run the read at once, for a user who may do everything.
//
// Its answer, __ABSENT__, is one that Redis never gives: wherever Redis's own bytes are due, it would show.

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "harness/redis_command.h"
#include "harness/shop.h"

namespace cuckooguard::harness {
namespace {

std::string get_absent() {
  return command({"GET", absent_user()});
}

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

  // The same bytes through the guard and straight to the same Redis give the same replies.
  void expect_redis_replies(std::string_view request, std::size_t replies) {
    RawClient straight = shop_.redis().client();
    const std::string expected = straight.exchange(request, replies);
    EXPECT_EQ(shown(client_.exchange(request, replies)), shown(expected)) << shown(request);
  }

  void expect_answering() { EXPECT_EQ(client_.exchange(get_absent(), 1), absent_reply()); }

  Shop shop_;
  RawClient client_ = shop_.client();
};

TEST_F(WrongClient, inside_multi_gets_queued_and_then_the_array) {
  expect_answering();
  expect_redis_replies(command({"MULTI"}) + get_absent() +
                           command({"MGET", absent_user(), user(1)}) +
                           command({"EXISTS", absent_user()}) + command({"EXEC"}),
                       5);
  expect_answering();
  expect_redis_replies(command({"MULTI"}) + get_absent() + command({"DISCARD"}), 3);
  expect_answering();
  // An error while queueing: EXECABORT. Nothing is answered until it is certain that MULTI has ended.
  expect_redis_replies(command({"MULTI"}) + command({"NOSUCH"}) + get_absent() + command({"EXEC"}),
                       4);
  expect_redis_replies(command({"MULTI"}) + command({"MULTI"}) + get_absent() + command({"EXEC"}),
                       4);
  expect_answering();
}

TEST_F(WrongClient, after_watch_is_served_by_redis_until_it_has_ended) {
  expect_redis_replies(command({"WATCH", user(1)}) + get_absent(), 2);
  expect_redis_replies(get_absent(), 1);
  expect_redis_replies(command({"UNWATCH"}), 1);
  expect_answering();
  expect_redis_replies(
      command({"WATCH", user(1)}) + command({"MULTI"}) + get_absent() + command({"EXEC"}), 4);
  expect_answering();
}

TEST_F(WrongClient, in_another_db_is_served_by_redis) {
  expect_redis_replies(command({"SELECT", "1"}) + get_absent(), 2);
  expect_redis_replies(get_absent(), 1);
  expect_redis_replies(command({"SELECT", "999"}) + get_absent(), 2);  // refused: still db 1
  expect_redis_replies(command({"SELECT", "0"}), 1);
  expect_answering();
  expect_redis_replies(command({"SELECT", "x"}), 1);
  expect_answering();
}

TEST_F(WrongClient, that_resets_begins_anew) {
  expect_redis_replies(
      command({"SELECT", "3"}) + command({"MULTI"}) + get_absent() + command({"RESET"}), 4);
  expect_answering();
  client_.call({"HELLO", "3"});
  expect_answering();
  EXPECT_EQ(client_.exchange(command({"RESET"}) + command({"GET", user(77)}), 2),
            "+RESET\r\n$-1\r\n");
  expect_answering();
}

TEST_F(WrongClient, in_subscribed_state_is_refused_by_redis) {
  const std::string subscribe = command({"SUBSCRIBE", "news"});
  expect_redis_replies(subscribe + get_absent() + command({"PING"}), 3);
  shop_.redis().call({"PUBLISH", "news", "hello"});
  EXPECT_EQ(client_.read_reply(), "*3\r\n" + bulk("message") + bulk("news") + bulk("hello"));
  expect_redis_replies(subscribe + command({"UNSUBSCRIBE", "news"}) + get_absent(), 3);
}

TEST_F(WrongClient, that_monitors_sees_what_redis_shows) {
  EXPECT_EQ(client_.call({"MONITOR"}), kOk);
  client_.send(get_absent());
  RawClient straight = shop_.redis().client();
  straight.call({"MONITOR"});
  straight.send(get_absent());
  // Redis 7.0 refuses such reads; the lines of MONITOR begin with '+' and a time.
  const auto refusal = [](RawClient& client) {
    std::string reply = client.read_reply();
    while (reply.starts_with('+')) {
      reply = client.read_reply();
    }
    return reply;
  };
  EXPECT_EQ(refusal(client_), refusal(straight));
}

TEST_F(WrongClient, with_replies_off_gets_none) {
  RawClient straight = shop_.redis().client();
  const std::string off = command({"CLIENT", "REPLY", "OFF"}) + get_absent() + command({"PING"}) +
                          get_absent() + command({"CLIENT", "REPLY", "ON"}) +
                          command({"ECHO", "end"});
  EXPECT_EQ(client_.exchange(off, 2), straight.exchange(off, 2));
}

TEST_F(WrongClient, that_skips_a_reply_gets_one_less) {
  RawClient straight = shop_.redis().client();
  const std::string skip =
      command({"CLIENT", "REPLY", "SKIP"}) + get_absent() + command({"ECHO", "end"});
  EXPECT_EQ(client_.exchange(skip, 1), straight.exchange(skip, 1));
}

TEST_F(WrongClient, that_tracks_is_served_by_redis) {
  client_.call({"HELLO", "3"});
  expect_answering();
  EXPECT_EQ(client_.exchange(command({"CLIENT", "TRACKING", "ON"}) + get_absent(), 2),
            "+OK\r\n_\r\n");
  shop_.redis().call({"SET", absent_user(), "written"});
  EXPECT_EQ(client_.read_reply(), ">2\r\n" + bulk("invalidate") + "*1\r\n" + bulk(absent_user()));
}

TEST_F(WrongClient, in_resp3_gets_answers_in_resp3) {
  client_.call({"HELLO", "3"});
  expect_answering();
  EXPECT_EQ(client_.call({"GET", user(77)}), "_\r\n");
  client_.call({"HELLO", "2"});
  EXPECT_EQ(client_.call({"GET", user(77)}), kNil);
  // In flight: decided by Redis's reply, so what follows in the same pipeline is Redis's.
  const std::string replies = client_.exchange(command({"HELLO", "3"}) + get_absent(), 2);
  EXPECT_TRUE(replies.ends_with("\r\n_\r\n")) << shown(replies);
  EXPECT_TRUE(client_.call({"HELLO", "4"}).starts_with("-NOPROTO"));
}

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
  const std::string replies = client_.exchange(
      command({"MULTI", "x"}) + command({"HELLO", "3", "AUTH", "reader", "word", "SETNAME", "a b"}),
      2);
  EXPECT_TRUE(replies.starts_with("-")) << shown(replies);
  EXPECT_TRUE(client_.exchange(get_absent(), 1).starts_with("-NOPERM"));
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
      eventually([&shop] { return shop.redis().info("errorstats", "errorstat_NOAUTH") != ""; }));
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
