// Reads other than GET, MGET and EXISTS: answered as of a missing key, whatever the namespace's
// absent reply.

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "guard/guarded_shop.h"

namespace cuckooguard::guard {
namespace {

TEST(GuardReads, a_missing_key_is_answered_as_redis_would_in_both_versions) {
  GuardedShop shop;
  EXPECT_EQ(shop.decide({"HGETALL", "user:500"}).reply, "*0\r\n");
  EXPECT_EQ(shop.decide({"ttl", "user:500"}).reply, ":-2\r\n");
  EXPECT_EQ(shop.decide({"HMGET", "user:500", "a", "b"}).reply, "*2\r\n$-1\r\n$-1\r\n");
  shop.send({"HELLO", "3"}, '%');
  EXPECT_EQ(shop.decide({"HGETALL", "user:500"}).reply, "%0\r\n");
  EXPECT_EQ(shop.decide({"HMGET", "user:500", "a", "b"}).reply, "*2\r\n_\r\n_\r\n");
}

TEST(GuardReads, the_absent_reply_is_for_string_reads_only) {
  GuardedShop shop;
  EXPECT_EQ(shop.decide({"HGET", "item:plum", "f"}).reply, kNil2);
  EXPECT_EQ(shop.decide({"STRLEN", "item:plum"}).reply, ":0\r\n");
  EXPECT_EQ(shop.decide({"DUMP", "item:plum"}).reply, kNil2);
  EXPECT_EQ(shop.decide({"GETRANGE", "item:plum", "0", "-1"}).reply, "$0\r\n\r\n");
}

TEST(GuardReads, a_key_that_may_exist_is_forwarded) {
  GuardedShop shop;
  EXPECT_EQ(shop.decide({"HGETALL", "user:1"}).action, Action::forward);
  EXPECT_EQ(shop.decide({"HGETALL", "other:1"}).action, Action::forward);
  EXPECT_EQ(shop.decide({"OBJECT", "ENCODING", "user:1"}).action, Action::forward);
  EXPECT_EQ(shop.decide({"OBJECT", "ENCODING", "user:500"}).action, Action::answer);
}

TEST(GuardReads, a_shape_that_redis_may_refuse_is_forwarded_unjudged) {
  GuardedShop shop;
  EXPECT_EQ(shop.decide({"LRANGE", "user:500", "a", "b"}).action, Action::forward);
  EXPECT_EQ(shop.decide({"XINFO", "STREAM", "user:500"}).action, Action::forward);
  EXPECT_EQ(shop.count(GuardedShop::kUsers, Verdict::absent), 0);
}

// One key that may exist, in each place, makes the whole command Redis's.
TEST(GuardReads, a_read_of_many_keys_is_answered_only_if_all_are_absent) {
  using Words = std::vector<std::string_view>;
  struct Read {
    Words words;
    std::vector<std::size_t> keys;  // where they stand
  };
  const std::vector<Read> reads = {
      {{"SINTER", "", "", ""}, {1, 2, 3}},
      {{"SUNION", "", ""}, {1, 2}},
      {{"PFCOUNT", "", "", ""}, {1, 2, 3}},
      {{"LCS", "", "", "LEN"}, {1, 2}},
      {{"SINTERCARD", "2", "", "", "LIMIT", "1"}, {2, 3}},
      {{"ZUNION", "3", "", "", "", "WEIGHTS", "1", "2", "3"}, {2, 3, 4}},
      {{"ZDIFF", "2", "", "", "WITHSCORES"}, {2, 3}},
      {{"XREAD", "STREAMS", "", "", "0", "0"}, {2, 3}},
      {{"XREAD", "COUNT", "3", "STREAMS", "", "", "", "0", "$", "1-1"}, {4, 5, 6}},
  };
  GuardedShop shop;
  for (const auto& [words, keys] : reads) {
    Words all_absent = words;
    for (const std::size_t key : keys) {
      all_absent[key] = key % 2 == 0 ? "user:500" : "item:plum";
    }
    EXPECT_TRUE(shop.answers(all_absent)) << testing::PrintToString(all_absent);
    for (const std::size_t key : keys) {
      for (const std::string_view present : {"user:1", "other", "cart:5", "user:105"}) {
        Words one_present = all_absent;
        one_present[key] = present;
        EXPECT_EQ(shop.decide(one_present).action, Action::forward)
            << testing::PrintToString(one_present);
      }
    }
  }
}

TEST(GuardReads, a_key_just_written_makes_the_whole_command_redis_own) {
  GuardedShop shop;
  ASSERT_TRUE(shop.answers({"SUNION", "user:500", "user:501"}));
  shop.decide({"SADD", "user:501", "member"});
  EXPECT_FALSE(shop.answers({"SUNION", "user:500", "user:501"}));
  EXPECT_TRUE(shop.answers({"SUNION", "user:500", "user:502"}));
}

TEST(GuardReads, touch_leaves_absent_keys_out_as_exists_does) {
  GuardedShop shop;
  const Decision decision = shop.decide({"TOUCH", "user:500", "user:1", "item:plum"});
  EXPECT_EQ(decision.action, Action::rewrite);
  EXPECT_EQ(decision.request, "*2\r\n$5\r\nTOUCH\r\n$6\r\nuser:1\r\n");
  EXPECT_EQ(shop.decide({"touch", "user:500", "item:plum"}).reply, ":0\r\n");
  EXPECT_EQ(shop.decide({"TOUCH"}).action, Action::forward);
}

TEST(GuardReads, all_that_is_answered_whole_is_counted) {
  GuardedShop shop;
  shop.decide({"GET", "user:500"});
  shop.decide({"MGET", "user:500", "user:501"});
  shop.decide({"EXISTS", "user:500"});
  shop.decide({"SUNION", "user:500", "user:501"});
  EXPECT_EQ(shop.guard->counters().answered.value(), 4);
  shop.decide({"GET", "user:1"});
  shop.decide({"MGET", "user:500", "user:1"});
  shop.decide({"SUNION", "user:500", "user:1"});
  EXPECT_EQ(shop.guard->counters().answered.value(), 4);
}

TEST(GuardReads, observe_counts_all_keys_that_would_have_been_absent_and_forwards) {
  GuardedShop shop;
  shop.spaces[GuardedShop::kUsers].mode = config::Mode::observe;
  EXPECT_EQ(shop.decide({"SUNION", "user:500", "item:plum", "user:501"}).action, Action::forward);
  EXPECT_EQ(shop.count(GuardedShop::kUsers, Verdict::observed), 2);
}

// A second table: ids 600 to 610, and ids up to 620 are fresh.
TEST(GuardReads, of_a_namespace_of_several_tables_are_answered_only_if_none_has_the_row) {
  GuardedShop shop;
  filter::LiveParts& parts = *shop.parts[GuardedShop::kUsers];
  EXPECT_TRUE(shop.answers({"GET", "user:605"}));
  filter::LiveFilter& second = *parts.add("second");
  EXPECT_FALSE(shop.answers({"GET", "user:500"})) << "its rows are not known yet";
  auto filter = std::make_unique<filter::CuckooFilter>(
      filter::sizing_for(filter::Layout::w20, 1000, filter::DeleteMode::deferred), parts.secret());
  for (int id = 600; id <= 610; ++id) {
    filter->insert(filter->hash(std::to_string(id)));
  }
  second.publish(std::move(filter));
  second.set_growth(610, 10);
  second.set_fresh_until(shop.now + seconds(1));
  EXPECT_TRUE(shop.answers({"GET", "user:500"}));
  EXPECT_TRUE(shop.answers({"HGETALL", "user:500"}));
  for (const char* const key : {"user:1", "user:101", "user:605", "user:620"}) {
    EXPECT_FALSE(shop.answers({"GET", key})) << key;
  }
  EXPECT_EQ(shop.count(GuardedShop::kUsers, Verdict::fresh_id), 2U);
  parts.remove("second");
  EXPECT_TRUE(shop.answers({"GET", "user:605"}));
}

}  // namespace
}  // namespace cuckooguard::guard
