// Which absent reply a client gets, and at which time it was stamped.

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "guard/guarded_shop.h"

namespace cuckooguard::guard {
namespace {

using std::chrono::milliseconds;

std::string dogpile_at(const std::string& seconds) {
  return "$35\r\n{\"ct\": " + seconds + ", \"v\": 2}|\x80\x04N.\r\n";
}

TEST(GuardAbsentReply, of_a_preset_is_what_all_string_reads_get) {
  GuardedShop shop;
  shop.answer_items_with("keyv");
  const std::string null = "$14\r\n{\"value\":null}\r\n";
  EXPECT_EQ(shop.decide({"GET", "item:plum"}).reply, null);
  EXPECT_EQ(shop.decide({"GETEX", "item:plum", "EX", "60"}).reply, null);
  EXPECT_EQ(shop.decide({"MGET", "item:plum", "user:500"}).reply, "*2\r\n" + null + "$-1\r\n");
  shop.send({"HELLO", "3"}, '%');
  EXPECT_EQ(shop.decide({"GET", "item:plum"}).reply, null);
  EXPECT_EQ(shop.decide({"HGET", "item:plum", "f"}).reply, kNil3);
  EXPECT_EQ(shop.decide({"HGETEX", "item:plum", "FIELDS", "1", "f"}).reply, "*1\r\n_\r\n");
}

TEST(GuardAbsentReply, is_stamped_with_the_time_of_the_read) {
  GuardedShop shop;
  shop.answer_items_with("dogpile");
  EXPECT_EQ(shop.decide({"GET", "item:plum"}).reply, dogpile_at("1700000000.123"));
  shop.now += milliseconds(100);
  shop.wall_time += milliseconds(100);
  EXPECT_EQ(shop.decide({"GET", "item:plum"}).reply, dogpile_at("1700000000.223"));
  shop.send({"HELLO", "3"}, '%');
  EXPECT_EQ(shop.decide({"GETEX", "item:plum"}).reply, dogpile_at("1700000000.223"));
}

// The calendar's clock may be set back or forth; reads go on.
TEST(GuardAbsentReply, follows_a_clock_that_jumps) {
  GuardedShop shop;
  shop.answer_items_with("dogpile");
  shop.decide({"GET", "item:plum"});
  shop.now += milliseconds(20);
  shop.wall_time -= std::chrono::hours(1);
  EXPECT_EQ(shop.decide({"GET", "item:plum"}).reply, dogpile_at("1699996400.123"));
}

TEST(GuardAbsentReply, asks_for_the_time_at_most_every_ten_milliseconds) {
  GuardedShop shop;
  shop.answer_items_with("jetcache");
  for (int i = 0; i < 1000; ++i) {  // one second
    ASSERT_TRUE(shop.answers({"GET", "item:plum"}));
    ASSERT_TRUE(shop.answers({"MGET", "item:plum", "item:fig"}));
    shop.now += milliseconds(1);
    shop.wall_time += milliseconds(1);
    shop.filters[GuardedShop::kItems]->set_fresh_until(shop.now + seconds(1));
  }
  EXPECT_EQ(shop.wall_time_asked, 100);
}

TEST(GuardAbsentReply, asks_for_no_time_if_it_carries_none) {
  GuardedShop shop;
  shop.answer_items_with("spring");
  ASSERT_TRUE(shop.answers({"GET", "item:plum"}));
  ASSERT_TRUE(shop.answers({"GET", "user:500"}));
  EXPECT_EQ(shop.wall_time_asked, 0);
}

TEST(GuardAbsentReply, has_one_stamp_throughout_a_reply) {
  GuardedShop shop;
  shop.answer_items_with("dogpile");
  const std::string one = dogpile_at("1700000000.123");
  EXPECT_EQ(shop.decide({"MGET", "item:plum", "item:fig"}).reply, "*2\r\n" + one + one);
  const Decision merged = shop.decide({"MGET", "item:plum", "item:apple", "item:fig"});
  ASSERT_EQ(merged.action, Action::merge);
  ASSERT_EQ(merged.elements.size(), 3);
  EXPECT_EQ(merged.elements[0], one);
  EXPECT_EQ(merged.elements[1], std::nullopt);
  EXPECT_EQ(merged.elements[2], one);
}

TEST(GuardAbsentReply, with_a_time_needs_a_clock) {
  GuardedShop shop;
  shop.answer_items_with("dogpile");
  Guard::Parts parts = shop.guard->parts();
  parts.wall_time = nullptr;
  EXPECT_THROW(Guard{parts}, std::logic_error);
}

// As the frameworks write it: SETEX, SET ... PX, each at a time of its own.
TEST(GuardAbsentReply, with_any_stamp_is_no_news_of_a_row) {
  GuardedShop shop;
  shop.answer_items_with("dogpile");
  shop.decide({"SETEX", "item:plum", "60", "{\"ct\": 1699999999.1234567, \"v\": 2}|\x80\x04N."});
  EXPECT_TRUE(shop.answers({"GET", "item:plum"}));
  shop.decide(
      {"SETEX", "item:plum", "60", "{\"ct\": 1699999999.1234567, \"v\": 2}|\x80\x04K\x01."});
  EXPECT_FALSE(shop.answers({"GET", "item:plum"}));
}

TEST(GuardAbsentReply, getex_is_answered_only_in_shapes_that_redis_takes) {
  using Words = std::vector<std::string_view>;
  for (const Words& words : std::vector<Words>{{"GETEX", "user:500"},
                                               {"getex", "user:500", "persist"},
                                               {"GETEX", "user:500", "EX", "1"},
                                               {"GETEX", "user:500", "px", "60000"},
                                               {"GETEX", "user:500", "EXAT", "4102444800"},
                                               {"GETEX", "user:500", "PXAT", "4102444800000"}}) {
    GuardedShop shop;
    EXPECT_EQ(shop.decide(words).reply, kNil2) << testing::PrintToString(words);
  }
  for (const Words& words : std::vector<Words>{{"GETEX"},
                                               {"GETEX", "user:500", "user:501"},
                                               {"GETEX", "user:500", "EX"},
                                               {"GETEX", "user:500", "EX", "0"},
                                               {"GETEX", "user:500", "EX", "-1"},
                                               {"GETEX", "user:500", "EX", "x"},
                                               {"GETEX", "user:500", "EX", "1234567890123456"},
                                               {"GETEX", "user:500", "EX", "1", "PERSIST"},
                                               {"GETEX", "user:500", "PERSIST", "PERSIST"},
                                               {"GETEX", "user:500", "KEEPTTL"},
                                               {"GETEX", "user:1"},
                                               {"GETEX", "other"}}) {
    GuardedShop shop;
    EXPECT_EQ(shop.decide(words).action, Action::forward) << testing::PrintToString(words);
  }
}

// What it does to an expiry is no row; and were it learned, reads of absent keys would fill the
// overlay.
TEST(GuardAbsentReply, getex_teaches_nothing_even_where_it_is_forwarded) {
  GuardedShop shop;
  EXPECT_EQ(shop.decide({"GETEX", "user:500", "EX", "0"}).action, Action::forward);
  EXPECT_EQ(shop.decide({"HGETEX", "user:500", "FIELDS", "2", "f"}).action, Action::forward);
  EXPECT_TRUE(shop.answers({"GET", "user:500"}));
}

}  // namespace
}  // namespace cuckooguard::guard
