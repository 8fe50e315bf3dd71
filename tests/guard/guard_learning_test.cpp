// What the guard learns from writes: keys that pass although the filter has not heard of them.

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "guard/guarded_shop.h"

namespace cuckooguard::guard {
namespace {

using Words = std::vector<std::string_view>;

class LearnedKeys : public testing::TestWithParam<Words> {
 protected:
  GuardedShop shop_;
};

// In each command user:500 and user:501 are its guarded keys.
TEST_P(LearnedKeys, pass_from_the_next_command_on) {
  ASSERT_TRUE(shop_.answers({"GET", "user:500"}));
  const Decision write = shop_.decide(GetParam());
  EXPECT_EQ(write.action, Action::forward);
  EXPECT_EQ(write.change, nullptr);
  EXPECT_EQ(shop_.decide({"MGET", "user:500", "user:501"}).action, Action::forward);
  EXPECT_TRUE(shop_.answers({"GET", "user:502"})) << "another key";
}

INSTANTIATE_TEST_SUITE_P(
    Commands,
    LearnedKeys,
    testing::ValuesIn(std::vector<Words>{
        {"MSET", "user:500", "a", "user:501", "b"},
        {"MSETNX", "user:500", "a", "user:501", "b"},
        {"DEL", "user:500", "user:501"},
        {"unlink", "user:500", "user:501"},
        {"RENAME", "user:500", "user:501"},
        {"COPY", "user:500", "user:501"},
        {"LMOVE", "user:500", "user:501", "LEFT", "LEFT"},
        {"BLPOP", "user:500", "user:501", "0"},
        {"BITOP", "AND", "user:500", "user:501"},
        {"PFMERGE", "user:500", "user:501"},
        {"SUNIONSTORE", "user:500", "user:501"},
        {"ZUNIONSTORE", "user:500", "1", "user:501"},
        {"EVAL", "return 1", "2", "user:500", "user:501"},
        {"EVALSHA", "abc", "2", "user:500", "user:501", "x"},
        {"FCALL", "f", "2", "user:500", "user:501"},
        {"ZMPOP", "2", "user:500", "user:501", "MIN"},
        {"SORT", "user:500", "BY", "nosort", "STORE", "user:501"},
        {"GEORADIUS", "user:500", "0", "0", "1", "m", "STORE", "user:501"},
        {"MIGRATE", "h", "1", "", "0", "5", "KEYS", "user:500", "user:501"},
        {"XREADGROUP", "GROUP", "g", "c", "STREAMS", "user:500", "user:501", ">", ">"},
        {"MODULE.WRITE", "x", "user:500", "user:501"},
        {"", "user:500", "user:501"},
    }));

TEST(GuardLearning, writes_of_one_key) {
  for (const Words& write : std::vector<Words>{{"SET", "user:500", "x"},
                                               {"set", "user:500", "x", "EX", "60", "NX"},
                                               {"SETEX", "user:500", "60", "x"},
                                               {"SETNX", "user:500", "x"},
                                               {"GETSET", "user:500", "x"},
                                               {"GETDEL", "user:500"},
                                               {"RESTORE", "user:500", "0", "x"},
                                               {"HSET", "user:500", "f", "v"},
                                               {"EXPIRE", "user:500", "5"},
                                               {"XGROUP", "CREATE", "user:500", "g", "$"},
                                               {"INCR", "user:500"}}) {
    GuardedShop shop;
    ASSERT_TRUE(shop.answers({"GET", "user:500"}));
    shop.decide(write);
    EXPECT_FALSE(shop.answers({"GET", "user:500"})) << testing::PrintToString(write);
    EXPECT_EQ(shop.count(GuardedShop::kUsers, Verdict::overlaid), 1);
  }
}

TEST(GuardLearning, reads_teach_nothing) {
  GuardedShop shop;
  for (const std::string_view read : {"GET", "TTL", "HGETALL", "DUMP", "TYPE", "EXISTS"}) {
    shop.decide({read, "user:500"});
  }
  shop.decide({"EVAL_RO", "return 1", "1", "user:500"});
  shop.decide({"GETEX", "user:500", "EX", "60"});
  shop.decide({"GETEX", "user:500", "EX", "sixty"});
  shop.decide({"OBJECT", "ENCODING", "user:500"});
  EXPECT_TRUE(shop.answers({"GET", "user:500"}));
}

TEST(GuardLearning, lasts_for_the_overlays_ttl) {
  GuardedShop shop;
  shop.decide({"SET", "user:500", "x"});
  shop.now += seconds(60);
  shop.filters[GuardedShop::kUsers]->set_fresh_until(shop.now + seconds(10));
  EXPECT_FALSE(shop.answers({"GET", "user:500"}));
  shop.now += seconds(1);
  EXPECT_TRUE(shop.answers({"GET", "user:500"}));
}

TEST(GuardLearning, the_absent_reply_itself_says_nothing_of_a_row) {
  for (const Words& write : std::vector<Words>{{"SET", "item:plum", "*"},
                                               {"SET", "item:plum", "*", "NX", "EX", "60"},
                                               {"SETEX", "item:plum", "60", "*"},
                                               {"PSETEX", "item:plum", "60000", "*"},
                                               {"SETNX", "item:plum", "*"},
                                               {"GETSET", "item:plum", "*"},
                                               {"MSET", "item:plum", "*"},
                                               {"MSETNX", "other", "x", "item:plum", "*"}}) {
    GuardedShop shop;
    shop.decide(write);
    EXPECT_TRUE(shop.answers({"GET", "item:plum"})) << testing::PrintToString(write);
  }
}

TEST(GuardLearning, any_other_value_is_learned) {
  for (const Words& write : std::vector<Words>{{"SET", "item:plum", "**"},
                                               {"SET", "item:plum", ""},
                                               {"SETEX", "item:plum", "*", "x"},
                                               {"MSET", "item:plum", "x", "other", "*"},
                                               {"MSET", "other", "*", "item:plum", "x"},
                                               {"APPEND", "item:plum", "*"},
                                               {"SADD", "item:plum", "*"},
                                               {"SET", "item:plum"}}) {
    GuardedShop shop;
    shop.decide(write);
    EXPECT_FALSE(shop.answers({"GET", "item:plum"})) << testing::PrintToString(write);
  }
}

TEST(GuardLearning, the_bytes_of_another_namespace_or_of_nil_are_a_value) {
  GuardedShop shop;
  shop.decide({"SET", "user:500", "*"});
  EXPECT_FALSE(shop.answers({"GET", "user:500"}));
  shop.decide({"SET", "user:501", "$-1\r\n"});
  EXPECT_FALSE(shop.answers({"GET", "user:501"}));
}

TEST(GuardLearning, a_command_without_a_value_has_none_to_be_taken_for_the_absent_reply) {
  GuardedShop shop;
  shop.spaces[GuardedShop::kItems].absent_reply = AbsentReply({.nil = false, .bytes = "item:plum"});
  shop.decide({"DEL", "item:plum"});
  EXPECT_FALSE(shop.answers({"GET", "item:plum"}));
}

TEST(GuardLearning, does_not_depend_on_the_clients_state) {
  GuardedShop shop;
  shop.facts.withdraw_users();
  shop.may_answer = false;
  shop.decide({"SET", "user:500", "x"});
  shop.send({"MULTI"}, '+');
  shop.decide({"SET", "user:501", "x"});
  shop.send({"EXEC"}, '*');
  shop.facts.publish_users(shop.facts.epoch(),
                           {.unrestricted = {"default"}, .default_needs_no_password = true});
  shop.may_answer = true;
  EXPECT_FALSE(shop.answers({"GET", "user:500"}));
  EXPECT_FALSE(shop.answers({"GET", "user:501"}));
  EXPECT_TRUE(shop.answers({"GET", "user:502"}));
}

TEST(GuardLearning, is_by_namespace_and_identity) {
  GuardedShop shop;
  shop.decide({"SET", "user:500", "x"});
  EXPECT_TRUE(shop.answers({"GET", "order:500"}));
  EXPECT_TRUE(shop.answers({"GET", "item:500"}));
}

TEST(GuardLearning, includes_keys_that_no_row_can_have) {
  GuardedShop shop;
  shop.decide({"SET", "order:7abc", "x"});
  EXPECT_FALSE(shop.answers({"GET", "order:7abc"}));
  EXPECT_TRUE(shop.answers({"GET", "order:7abd"}));
}

TEST(GuardLearning, is_spared_where_nothing_is_looked_up) {
  GuardedShop shop;
  shop.spaces[GuardedShop::kUsers].mode = config::Mode::bypass;
  shop.decide({"SET", "user:500", "x"});
  EXPECT_EQ(shop.guard->counters(GuardedShop::kUsers).learned.value(), 0);
  shop.spaces[GuardedShop::kUsers].mode = config::Mode::observe;
  shop.decide({"SET", "user:500", "x"});
  EXPECT_EQ(shop.guard->counters(GuardedShop::kUsers).learned.value(), 1);
}

TEST(GuardLearning, a_full_overlay_forgets_no_key) {
  GuardedShop shop;
  std::vector<std::string> keys;
  for (int id = 1000; id < 12'000; ++id) {
    keys.push_back("user:" + std::to_string(id));
    shop.decide({"SET", keys.back(), "x"});
  }
  EXPECT_GT(shop.overlays[GuardedShop::kUsers]->overflows(), 0);
  EXPECT_TRUE(std::ranges::none_of(
      keys, [&shop](const std::string& key) { return shop.answers({"GET", key}); }));
  EXPECT_TRUE(shop.answers({"GET", "order:500"})) << "another namespace";
}

}  // namespace
}  // namespace cuckooguard::guard
