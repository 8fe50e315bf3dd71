// What is written through the guard is found by everybody, also where Redis carries it out late or
// no reply can be placed; and what Redis refuses changes nothing for anybody.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "harness/guard_process.h"
#include "harness/redis_command.h"
#include "harness/shop.h"

namespace cuckooguard::harness {
namespace {

class UnseenWrites : public testing::Test {
 protected:
  UnseenWrites() { shop_.wait_until_it_answers(); }

  // What has been learned before this has expired.
  void outlast_the_overlay() {
    const std::string marker = absent_user(900);
    ASSERT_EQ(reader_.call({"GUARD.ADD", marker}), ":1\r\n");
    ASSERT_TRUE(
        eventually([&] { return reader_.call({"GUARD.CHECK", marker}) == "*1\r\n:0\r\n"; }));
  }
  void expect_found(const std::string& key) {
    EXPECT_EQ(reader_.call({"GET", key}), bulk("value")) << "by another client";
  }
  bool redis_has(const std::string& key) { return shop_.redis().call({"EXISTS", key}) == ":1\r\n"; }

  static constexpr std::string_view kValue = "value";
  Shop shop_{{.overlay = "{ pass_at_start: false, ttl: 1s }"}};
  RawClient reader_ = shop_.client();
  RawClient writer_ = shop_.client();
};

TEST_F(UnseenWrites, of_a_transaction_that_was_open_for_longer_than_the_ttl) {
  const std::string key = absent_user(1);
  writer_.call({"MULTI"});
  writer_.call({"SET", key, kValue});
  outlast_the_overlay();
  writer_.call({"EXEC"});
  expect_found(key);
}

TEST_F(UnseenWrites, of_a_command_that_was_blocked_for_longer_than_the_ttl) {
  const std::string key = absent_user(2);
  writer_.send(command({"BLMOVE", "queue", key, "LEFT", "RIGHT", "0"}));
  outlast_the_overlay();
  reader_.call({"RPUSH", "queue", kValue});
  EXPECT_EQ(writer_.read_reply(), bulk(kValue));
  EXPECT_EQ(reader_.call({"LRANGE", key, "0", "-1"}), "*1\r\n" + bulk(kValue));
}

TEST_F(UnseenWrites, that_redis_holds_back_while_it_is_paused) {
  const std::string key = absent_user(3);
  shop_.redis().call({"CLIENT", "PAUSE", "60000", "WRITE"});
  writer_.send(command({"SET", key, kValue}));
  outlast_the_overlay();
  shop_.redis().call({"CLIENT", "UNPAUSE"});
  EXPECT_EQ(writer_.read_reply(), kOk);
  expect_found(key);
}

TEST_F(UnseenWrites, that_are_in_flight_are_found_by_who_has_sent_them) {
  const std::string key = absent_user(4);
  EXPECT_EQ(writer_.exchange(command({"SET", key, kValue}) + command({"GET", key}), 2),
            std::string(kOk) + bulk(kValue));
}

TEST_F(UnseenWrites, of_a_client_that_has_gone_before_its_reply) {
  const std::string key = absent_user(5);
  writer_.send(command({"SET", key, kValue}));
  writer_.close();
  // Its reply is on its way when Redis has the key.
  EXPECT_TRUE(eventually([&] { return reader_.call({"GET", key}) == bulk(kValue); }));
}

// What comes before the write, and how many replies it has; where the client wants none, -1.
struct Unplaced {
  const char* name;
  std::vector<std::vector<std::string_view>> commands;
  int replies;
};

class ScannedOnly : public UnseenWrites, public testing::WithParamInterface<Unplaced> {};

TEST_P(ScannedOnly, writes_are_found_by_others) {
  const std::string key = absent_user(6);
  std::string request;
  for (const auto& words : GetParam().commands) {
    request += command(words);
  }
  writer_.send(request);
  if (GetParam().replies > 0) {
    writer_.read_replies(static_cast<std::size_t>(GetParam().replies));
  }
  writer_.send(command({"SET", key, kValue}));
  if (GetParam().commands.back().front() == "MULTI") {
    writer_.send(command({"EXEC"}));
  }
  ASSERT_TRUE(eventually([&] { return redis_has(key); }));
  expect_found(key);
}

TEST_P(ScannedOnly, large_writes_are_found_by_others) {
  const std::string key = absent_user(7);
  std::string request;
  for (const auto& words : GetParam().commands) {
    request += command(words);
  }
  writer_.send(request);
  writer_.send(command({"MSET", "other", std::string(200'000, 'v'), key, kValue}));
  if (GetParam().commands.back().front() == "MULTI") {
    writer_.send(command({"EXEC"}));
  }
  ASSERT_TRUE(eventually([&] { return redis_has(key); }));
  expect_found(key);
}

INSTANTIATE_TEST_SUITE_P(
    States,
    ScannedOnly,
    testing::Values(
        Unplaced{"replconf", {{"REPLCONF", "listening-port", "1"}}, 1},
        Unplaced{"script_debug_no", {{"SCRIPT", "DEBUG", "NO"}}, 1},
        Unplaced{"no_replies", {{"CLIENT", "REPLY", "OFF"}}, 0},
        Unplaced{"no_replies_and_select", {{"CLIENT", "REPLY", "OFF"}, {"SELECT", "0"}}, 0},
        Unplaced{"no_replies_and_multi", {{"CLIENT", "REPLY", "OFF"}, {"MULTI"}}, 0},
        Unplaced{"skipped_select", {{"CLIENT", "REPLY", "SKIP"}, {"SELECT", "0"}}, 0},
        Unplaced{"subscribed_in_multi", {{"MULTI"}, {"SUBSCRIBE", "c"}, {"DISCARD"}}, 3}),
    [](const auto& of) { return std::string(of.param.name); });

TEST_F(UnseenWrites, behind_more_transactions_than_used_to_be_followed) {
  constexpr int kTransactions = 3000;
  std::string request;
  for (int i = 0; i < kTransactions; ++i) {
    request += command({"MULTI"}) + command({"SET", "k", "v"}) + command({"EXEC"});
  }
  writer_.exchange(request, std::size_t{3} * kTransactions);
  const std::string key = absent_user(8);
  EXPECT_EQ(writer_.call({"SET", key, kValue}), kOk);
  expect_found(key);
  EXPECT_EQ(writer_.call({"GET", absent_user()}), absent_reply()) << "and it is still guarded";
}

// In and out of users, where no reply tells who is in.
class UnseenLogin : public testing::Test {
 protected:
  UnseenLogin() {
    shop_.redis().call({"ACL", "SETUSER", "writer", "on", ">open", "~user:*", "+get", "+set"});
    EXPECT_TRUE(eventually([&] { return shop_.answers_absent(reader_); }));
  }
  void expect_found(const std::string& key) {
    EXPECT_TRUE(eventually([&] { return shop_.redis().call({"EXISTS", key}) == ":1\r\n"; }));
    // Redis is asked past the guard, which may hear a moment later of what was written.
    EXPECT_TRUE(eventually([&] { return reader_.call({"GET", key}) == bulk("value"); }));
  }

  Shop shop_{{.control = "password: word",
              .redis_arguments = {"--requirepass", "word"},
              .password = "word"}};
  RawClient reader_ = [this] {
    RawClient client = shop_.client();
    client.call({"AUTH", "word"});
    return client;
  }();
  RawClient writer_ = shop_.client();
};

TEST_F(UnseenLogin, writes_behind_it_are_found) {
  writer_.send(command({"AUTH", "word"}) + command({"MULTI"}) + command({"SUBSCRIBE", "c"}) +
               command({"DISCARD"}) + command({"RESET"}) + command({"AUTH", "writer", "open"}) +
               command({"SET", absent_user(1), "value"}));
  expect_found(absent_user(1));
}

TEST_F(UnseenLogin, writes_of_who_goes_before_any_reply_are_found) {
  writer_.send(command({"AUTH", "writer", "open"}) + command({"SET", absent_user(2), "value"}));
  writer_.close();
  expect_found(absent_user(2));
}

TEST_F(UnseenLogin, writes_of_who_may_not_even_getex_are_found) {
  ASSERT_EQ(writer_.call({"AUTH", "writer", "open"}), kOk);
  ASSERT_TRUE(eventually([&] { return shop_.answers_absent(writer_); }));
  writer_.send(command({"SET", absent_user(3), "value"}));
  writer_.close();
  expect_found(absent_user(3));
}

class RefusedWrites : public UnseenWrites {
 protected:
  static constexpr int kKeys = 100;

  RefusedWrites() {
    shop_.redis().call(
        {"ACL", "SETUSER", "reader", "on", "nopass", "~*", "+@read", "+client|reply"});
  }
  // None of them is learned.
  void expect_all_absent() {
    for (int i = 0; i < kKeys; ++i) {
      EXPECT_EQ(reader_.call({"GET", absent_user(i)}), absent_reply());
    }
    EXPECT_EQ(info_field(shop_.guard(), "users", "keys_learned"), "0");
  }
  static std::string writes() {
    std::string all;
    for (int i = 0; i < kKeys; ++i) {
      all += command({"SET", absent_user(i), kValue});
    }
    return all;
  }
  // Of the user's rights the guard has heard.
  void log_in() {
    ASSERT_TRUE(writer_.call({"AUTH", "reader", "x"}) == kOk);
    ASSERT_TRUE(
        eventually([&] { return writer_.call({"GET", absent_user(500)}) == absent_reply(); }));
  }
};

TEST_F(RefusedWrites, pass_for_nobody) {
  log_in();
  const std::string replies = writer_.exchange(writes(), kKeys);
  EXPECT_TRUE(replies.starts_with("-NOPERM"));
  expect_all_absent();
}

TEST_F(RefusedWrites, of_who_goes_before_the_refusal_pass_for_nobody) {
  log_in();
  writer_.send(writes() + command({"QUIT"}));
  writer_.read_until_closed();
  expect_all_absent();
}

TEST_F(RefusedWrites, that_nobody_hears_refused_pass_for_nobody) {
  log_in();
  writer_.send(command({"CLIENT", "REPLY", "OFF"}) + writes() + command({"CLIENT", "REPLY", "ON"}) +
               command({"PING"}));
  writer_.read_through("'ping' command\r\n");
  expect_all_absent();
}

TEST(RefusedWithoutLogin, writes_pass_for_nobody) {
  Shop shop({.control = "password: word",
             .redis_arguments = {"--requirepass", "word"},
             .password = "word"});
  RawClient reader = shop.client();
  ASSERT_EQ(reader.call({"AUTH", "word"}), kOk);
  ASSERT_TRUE(eventually([&] { return shop.answers_absent(reader); }));
  for (const bool waits : {true, false}) {
    RawClient stranger = shop.client();
    for (int i = 0; i < 100; ++i) {
      stranger.send(command({"SET", absent_user(i), "x"}));
    }
    if (waits) {
      EXPECT_TRUE(stranger.read_replies(100).starts_with("-NOAUTH"));
    }
    stranger.close();
    for (int i = 0; i < 100; ++i) {
      EXPECT_EQ(reader.call({"GET", absent_user(i)}), absent_reply());
    }
  }
}

}  // namespace
}  // namespace cuckooguard::harness
