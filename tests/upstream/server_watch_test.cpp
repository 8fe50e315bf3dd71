#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "harness/deadline.h"
#include "harness/redis_server.h"
#include "harness/slow_link.h"
#include "upstream/control.h"

namespace cuckooguard::upstream {
namespace {

using Next = LedTo::Next;

LedTo at_a() {
  LedTo led_to;
  led_to.connected("a");
  return led_to;
}

LedTo with_two_servers() {
  LedTo led_to = at_a();
  EXPECT_EQ(led_to.reached("b"), Next::ask_again);
  EXPECT_EQ(led_to.reached("a"), Next::rest);
  EXPECT_FALSE(led_to.several().empty());
  return led_to;
}

TEST(LedTo, another_server_is_believed_when_many_connections_in_a_row_have_reached_it) {
  LedTo led_to = at_a();
  EXPECT_EQ(led_to.reached("a"), Next::rest);
  for (int i = 0; i < LedTo::kSure; ++i) {
    EXPECT_EQ(led_to.reached("b"), Next::ask_again);
  }
  EXPECT_EQ(led_to.reached("b"), Next::moved);
  EXPECT_TRUE(led_to.several().empty());
  led_to.connected({});
  led_to.connected("b");
  EXPECT_EQ(led_to.reached("b"), Next::rest);
}

TEST(LedTo, what_cannot_be_reached_says_nothing) {
  LedTo led_to = at_a();
  EXPECT_EQ(led_to.reached({}), Next::rest);
  EXPECT_EQ(led_to.reached("b"), Next::ask_again);
  EXPECT_EQ(led_to.reached({}), Next::rest);
  EXPECT_EQ(led_to.reached("a"), Next::rest);
  EXPECT_TRUE(led_to.several().empty()) << "they were not reached at one time";
  led_to.connected({});
  EXPECT_EQ(led_to.reached("b"), Next::rest) << "the guard's own connection is nowhere";
}

TEST(LedTo, two_servers_at_one_time_are_several_and_not_a_move_each_time) {
  LedTo led_to = with_two_servers();
  const std::string told = led_to.several();
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(led_to.reached(i % 3 == 0 ? "b" : "a"), Next::rest);
    EXPECT_EQ(led_to.several(), told);
  }
}

TEST(LedTo, a_third_server_in_a_row_is_one_of_several_too) {
  LedTo led_to = at_a();
  EXPECT_EQ(led_to.reached("b"), Next::ask_again);
  EXPECT_EQ(led_to.reached("c"), Next::rest);
  EXPECT_FALSE(led_to.several().empty());
}

TEST(LedTo, when_one_of_several_is_left_all_connections_count_as_moved_also_to_the_same_one) {
  LedTo led_to = with_two_servers();
  for (int i = 2; i < LedTo::kAlone; ++i) {  // it was reached once already
    EXPECT_EQ(led_to.reached("a"), Next::rest);
  }
  EXPECT_EQ(led_to.reached("a"), Next::moved);
  EXPECT_TRUE(led_to.several().empty());
}

// What is told as one cannot be believed in part.
TEST(ServerWatch, tells_that_one_of_several_is_left_with_what_has_moved) {
  const std::vector<std::string> with_ops{"--user", "ops", "on", ">pass", "+info"};
  const harness::RedisServer first(with_ops);
  const harness::RedisServer second(with_ops);
  harness::SlowLink link(first.port());
  std::mutex mutex;
  std::vector<ServerWatch::Change> told;
  ServerWatch watch({.address = {.host = "127.0.0.1", .port = link.port()},
                     .control = {.username = "ops", .password = "pass"}},
                    nullptr,
                    [&](const ServerWatch::Change& change) {
                      const std::lock_guard lock(mutex);
                      told.push_back(change);
                    });
  const auto is_told = [&](std::size_t times) {
    return harness::eventually([&] {
      const std::lock_guard lock(mutex);
      return told.size() == times;
    });
  };
  watch.connected(first.info("server", "run_id"));
  link.lead_to({second.port(), first.port()});
  watch.start();
  ASSERT_TRUE(is_told(1));
  ASSERT_TRUE(is_told(2)) << "kAlone connections to the first one";
  EXPECT_EQ(told[0].moved_from, "");
  EXPECT_NE(told[0].several, "");
  EXPECT_EQ(told[1].moved_from, first.info("server", "run_id"));
  EXPECT_EQ(told[1].several, "");
}

TEST(ServerWatch, tells_that_its_address_leads_to_another_server_although_the_first_one_stays_up) {
  const std::vector<std::string> with_ops{"--user", "ops", "on", ">pass", "+info"};
  const harness::RedisServer first(with_ops);
  const harness::RedisServer second(with_ops);
  harness::SlowLink link(first.port());
  std::atomic<int> moved{0};
  ServerWatch watch({.address = {.host = "127.0.0.1", .port = link.port()},
                     .control = {.username = "ops", .password = "pass"}},
                    nullptr,
                    [&](const ServerWatch::Change& change) {
                      moved += change.moved_from == first.info("server", "run_id") ? 1 : 0;
                    });
  watch.connected(first.info("server", "run_id"));
  watch.start();
  EXPECT_TRUE(harness::eventually([&] { return first.calls("auth") > 2; }));
  EXPECT_EQ(moved, 0);
  link.lead_to({second.port()});
  EXPECT_TRUE(harness::eventually([&] { return moved > 0; }));
  const int before = moved;
  watch.connected(second.info("server", "run_id"));
  const std::uint64_t asked = second.calls("auth");
  EXPECT_TRUE(harness::eventually([&] { return second.calls("auth") > asked + 2; }));
  EXPECT_LE(moved, before + 1) << "one may have been on its way";
}

}  // namespace
}  // namespace cuckooguard::upstream
