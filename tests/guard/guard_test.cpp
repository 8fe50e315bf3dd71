#include "guard/guard.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "guard/guarded_shop.h"

namespace cuckooguard::guard {
namespace {

using testing::ElementsAre;
using testing::Eq;
using testing::Optional;

constexpr std::optional<std::string_view> kFromRedis;

TEST(Guard, a_missing_key_is_answered_as_redis_would_in_both_versions) {
  GuardedShop shop;
  EXPECT_EQ(shop.decide({"GET", "user:500"}).reply, kNil2);
  shop.send({"HELLO", "3"}, '%');
  EXPECT_EQ(shop.decide({"GET", "user:500"}).reply, kNil3);
  shop.send({"HELLO", "2"}, '*');
  EXPECT_EQ(shop.decide({"GET", "user:500"}).reply, kNil2);
}

TEST(Guard, a_missing_key_is_answered_with_the_frameworks_own_bytes) {
  GuardedShop shop;
  EXPECT_EQ(shop.decide({"GET", "item:plum"}).reply, kStar);
  shop.send({"HELLO", "3"}, '%');
  EXPECT_EQ(shop.decide({"GET", "item:plum"}).reply, kStar);
}

TEST(Guard, an_existing_key_is_forwarded) {
  GuardedShop shop;
  EXPECT_EQ(shop.decide({"GET", "user:42"}).action, Action::forward);
  EXPECT_EQ(shop.decide({"GET", "item:pear"}).action, Action::forward);
  EXPECT_EQ(shop.decide({"GET", "order:100"}).action, Action::forward);
}

TEST(Guard, keys_of_no_namespace_are_forwarded) {
  GuardedShop shop;
  EXPECT_EQ(shop.decide({"GET", "session:500"}).action, Action::forward);
  EXPECT_EQ(shop.decide({"GET", "user:007"}).action, Action::forward) << "SQL may read it as 7";
  EXPECT_EQ(shop.decide({"GET", ""}).action, Action::forward);
  EXPECT_EQ(shop.guard->counters().unguarded_keys.value(), 3);
}

TEST(Guard, a_value_that_no_row_can_have_is_absent_if_keys_are_canonical) {
  GuardedShop shop;
  EXPECT_EQ(shop.decide({"GET", "order:007"}).reply, kNil2);
  EXPECT_EQ(shop.decide({"EXISTS", "order:'; DROP TABLE"}).reply, ":0\r\n");
}

TEST(Guard, ids_just_above_the_largest_pass_and_those_beyond_do_not) {
  GuardedShop shop;
  EXPECT_EQ(shop.decide({"GET", "user:101"}).action, Action::forward);
  EXPECT_EQ(shop.decide({"GET", "user:110"}).action, Action::forward);
  EXPECT_EQ(shop.decide({"GET", "user:111"}).action, Action::answer);
  EXPECT_EQ(shop.count(GuardedShop::kUsers, Verdict::fresh_id), 2);
}

TEST(Guard, command_names_are_read_in_any_case) {
  GuardedShop shop;
  EXPECT_TRUE(shop.answers({"get", "user:500"}));
  EXPECT_TRUE(shop.answers({"gEt", "user:500"}));
  EXPECT_TRUE(shop.answers({"mGet", "user:500"}));
  EXPECT_TRUE(shop.answers({"Exists", "user:500"}));
}

TEST(Guard, a_wrong_number_of_arguments_is_redis_to_refuse) {
  GuardedShop shop;
  EXPECT_EQ(shop.decide({"GET"}).action, Action::forward);
  EXPECT_EQ(shop.decide({"GET", "user:500", "user:501"}).action, Action::forward);
  EXPECT_EQ(shop.decide({"MGET"}).action, Action::forward);
  EXPECT_EQ(shop.decide({"EXISTS"}).action, Action::forward);
  EXPECT_EQ(shop.decide({}).action, Action::forward);
}

TEST(Guard, mget_of_absent_keys_only_is_answered_whole) {
  GuardedShop shop;
  EXPECT_EQ(shop.decide({"MGET", "user:500", "item:plum", "user:500"}).reply,
            "*3\r\n$-1\r\n$1\r\n*\r\n$-1\r\n");
  shop.send({"HELLO", "3"}, '%');
  EXPECT_EQ(shop.decide({"MGET", "user:500", "item:plum"}).reply, "*2\r\n_\r\n$1\r\n*\r\n");
}

TEST(Guard, mget_asks_redis_for_the_others_and_merges_the_absent_in_place) {
  GuardedShop shop;
  const Decision decision =
      shop.decide({"mget", "user:500", "user:1", "item:plum", "other", "user:501", "user:1"});
  EXPECT_EQ(decision.action, Action::merge);
  EXPECT_EQ(decision.request,
            "*4\r\n$4\r\nmget\r\n$6\r\nuser:1\r\n$5\r\nother\r\n$6\r\nuser:1\r\n");
  EXPECT_THAT(decision.elements,
              ElementsAre(Optional(kNil2),
                          Eq(kFromRedis),
                          Optional(kStar),
                          Eq(kFromRedis),
                          Optional(kNil2),
                          Eq(kFromRedis)));
}

TEST(Guard, mget_of_one_key_that_may_exist_is_still_asked_of_redis) {
  GuardedShop shop;
  const Decision decision = shop.decide({"MGET", "user:500", "user:1"});
  EXPECT_EQ(decision.action, Action::merge);
  EXPECT_EQ(decision.request, "*2\r\n$4\r\nMGET\r\n$6\r\nuser:1\r\n");
  EXPECT_THAT(decision.elements, ElementsAre(Optional(kNil2), Eq(kFromRedis)));
}

TEST(Guard, mget_without_absent_keys_is_forwarded_as_it_is) {
  GuardedShop shop;
  const Decision decision = shop.decide({"MGET", "user:1", "other"});
  EXPECT_EQ(decision.action, Action::forward);
  EXPECT_TRUE(decision.elements.empty());
}

TEST(Guard, exists_leaves_absent_keys_out) {
  GuardedShop shop;
  const Decision decision = shop.decide({"EXISTS", "user:500", "user:1", "user:1", "item:plum"});
  EXPECT_EQ(decision.action, Action::rewrite);
  EXPECT_EQ(decision.request, "*3\r\n$6\r\nEXISTS\r\n$6\r\nuser:1\r\n$6\r\nuser:1\r\n");
  EXPECT_EQ(shop.decide({"EXISTS", "user:1", "other"}).action, Action::forward);
}

TEST(Guard, exists_of_absent_keys_only_is_zero_whatever_the_absent_reply) {
  GuardedShop shop;
  EXPECT_EQ(shop.decide({"EXISTS", "item:plum", "item:plum", "user:500"}).reply, ":0\r\n");
  shop.send({"HELLO", "3"}, '%');
  EXPECT_EQ(shop.decide({"EXISTS", "item:plum"}).reply, ":0\r\n");
}

TEST(Guard, keys_of_namespaces_in_different_states_are_judged_one_by_one) {
  GuardedShop shop;
  shop.filters[GuardedShop::kUsers]->set_fresh_until(TimePoint::min());
  const Decision decision = shop.decide({"MGET", "user:500", "item:plum", "cart:500"});
  EXPECT_EQ(decision.request, "*3\r\n$4\r\nMGET\r\n$8\r\nuser:500\r\n$8\r\ncart:500\r\n");
  EXPECT_THAT(decision.elements, ElementsAre(Eq(kFromRedis), Optional(kStar), Eq(kFromRedis)));
}

TEST(Guard, a_very_long_key_is_never_guarded) {
  GuardedShop shop;
  const std::string prefix = "item:";
  const std::string longest =
      prefix + std::string(resp::kWholeArgumentBytesMax - prefix.size(), 'x');
  EXPECT_TRUE(shop.answers({"GET", longest}));
  EXPECT_EQ(shop.decide({"GET", longest + 'x'}).action, Action::forward);
  shop.decide({"SET", longest + 'x', "value"});
  EXPECT_EQ(shop.guard->counters(GuardedShop::kItems).learned.value(), 0);
}

TEST(Guard, other_commands_are_forwarded) {
  GuardedShop shop;
  for (const std::string_view name : {"PING", "INFO", "XINFO", "HGETALLX", "GETX", "geet"}) {
    const Decision decision = shop.decide({name, "user:500"});
    EXPECT_EQ(decision.action, Action::forward) << name;
    EXPECT_EQ(decision.change, nullptr) << name;
  }
}

TEST(Guard, what_would_have_been_absent_is_counted_in_observe) {
  GuardedShop shop;
  shop.spaces[GuardedShop::kUsers].mode = config::Mode::observe;
  shop.decide({"MGET", "user:500", "user:501", "user:1"});
  EXPECT_EQ(shop.count(GuardedShop::kUsers, Verdict::observed), 2);
  EXPECT_EQ(shop.count(GuardedShop::kUsers, Verdict::may_exist), 1);
  EXPECT_EQ(shop.count(GuardedShop::kUsers, Verdict::absent), 0);
}

TEST(Guard, every_verdict_is_counted_for_its_namespace) {
  GuardedShop shop;
  shop.write({"SET", "user:501", "x"});
  shop.decide({"MGET", "user:500", "user:501", "user:1", "cart:1", "item:plum"});
  shop.spaces[GuardedShop::kItems].mode = config::Mode::bypass;
  shop.filters[GuardedShop::kUsers]->set_fresh_until(TimePoint::min());
  shop.decide({"MGET", "item:plum", "user:500"});
  EXPECT_EQ(shop.count(GuardedShop::kUsers, Verdict::absent), 1);
  EXPECT_EQ(shop.count(GuardedShop::kUsers, Verdict::overlaid), 1);
  EXPECT_EQ(shop.count(GuardedShop::kUsers, Verdict::may_exist), 1);
  EXPECT_EQ(shop.count(GuardedShop::kUsers, Verdict::not_fresh), 1);
  EXPECT_EQ(shop.count(GuardedShop::kCarts, Verdict::other_db), 1);
  EXPECT_EQ(shop.count(GuardedShop::kItems, Verdict::absent), 1);
  EXPECT_EQ(shop.count(GuardedShop::kItems, Verdict::bypassed), 1);
  EXPECT_EQ(shop.guard->counters(GuardedShop::kUsers).learned.value(), 1);
}

TEST(Guard, why_a_read_was_not_looked_at_is_counted) {
  GuardedShop shop;
  shop.may_answer = false;
  shop.decide({"GET", "user:500"});
  shop.facts.withdraw_users();
  shop.decide({"GET", "user:500"});
  shop.send({"MULTI"});
  shop.decide({"GET", "user:500"});
  shop.decide({"MGET", "user:500"});
  EXPECT_EQ(shop.guard->counters().no_room_reads.value(), 1);
  EXPECT_EQ(shop.guard->counters().not_allowed_reads.value(), 1);
  EXPECT_EQ(shop.guard->counters().unsettled_reads.value(), 2);
}

}  // namespace
}  // namespace cuckooguard::guard
