#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "mysql/log_position.h"
#include "source/follower.h"

namespace cuckooguard::source::mysql {
namespace {

constexpr const char* kMySql = "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5";

LogPosition at(std::string_view text, bool is_mariadb = true) {
  return LogPosition::parse(text, is_mariadb).value();
}

TEST(FollowStatus, a_position_is_reached_once_the_source_has_moved_to_it_or_behind) {
  LogStatus<LogPosition> status;
  EXPECT_EQ(status.reached("0-1-75"), Reached::not_yet);
  status.moved_to(at("0-1-74,1-2-3"));
  EXPECT_EQ(status.reached("0-1-75"), Reached::not_yet);
  status.moved_to(at("0-1-75,1-2-3"));
  EXPECT_EQ(status.reached("0-1-75"), Reached::yes);
  EXPECT_EQ(status.reached("0-1-9,1-2-3"), Reached::yes);
  EXPECT_EQ(status.reached("0-1-75,1-2-4"), Reached::not_yet);
  EXPECT_EQ(status.reached("2-1-1"), Reached::not_yet);
  EXPECT_EQ(status.reached(""), Reached::yes) << "nothing";
}

TEST(FollowStatus, sets_of_mysql_are_positions_too) {
  LogStatus<LogPosition> status;
  status.moved_to(at(kMySql, false));
  EXPECT_EQ(status.reached("3e11fa47-71ca-11e1-9e33-c80aa9429562:5"), Reached::yes);
  EXPECT_EQ(status.reached("3e11fa47-71ca-11e1-9e33-c80aa9429562:6"), Reached::not_yet);
  EXPECT_EQ(status.reached("0-1-75"), Reached::not_a_position);
}

TEST(FollowStatus, what_is_no_position_of_the_servers_kind_is_refused) {
  LogStatus<LogPosition> status;
  EXPECT_EQ(status.reached(kMySql), Reached::not_yet) << "it may be a MySQL";
  EXPECT_EQ(status.reached("0-1"), Reached::not_a_position);
  status.moved_to(at("0-1-75"));
  EXPECT_EQ(status.reached(kMySql), Reached::not_a_position);
  status.has_no_position();
  EXPECT_EQ(status.reached(kMySql), Reached::not_a_position) << "it stays what it was";
  EXPECT_EQ(status.reached("0-1-75"), Reached::not_yet) << "all is read anew";
}

TEST(FollowStatus, a_place_may_be_words_that_are_no_position) {
  FollowStatus status;
  EXPECT_EQ(status.read().position, "");
  status.at("shop.inventory.products 1-0");
  EXPECT_EQ(status.read().position, "shop.inventory.products 1-0");
}

TEST(FollowStatus, tells_state_reason_proof_and_position_as_they_were_said_last) {
  LogStatus<LogPosition> status;
  EXPECT_EQ(status.read().state, filter::SourceState::loading);
  EXPECT_EQ(status.read().proven_at, std::nullopt);
  status.moved_to(at("0-1-75"));
  status.proven(TimePoint(std::chrono::seconds(5)));
  status.lost("gone");
  SourceStatus now = status.read();
  EXPECT_EQ(now.state, filter::SourceState::down);
  EXPECT_EQ(now.why, "gone");
  EXPECT_EQ(now.position, "0-1-75");
  EXPECT_EQ(now.proven_at, TimePoint(std::chrono::seconds(5)));
  status.remark("not told while it is down");
  EXPECT_EQ(status.read().why, "gone");
  status.following();
  EXPECT_EQ(status.read().why, "");
  EXPECT_EQ(status.read().state, filter::SourceState::following);
  status.remark("a right is missing");
  EXPECT_EQ(status.read().why, "a right is missing");
  EXPECT_EQ(status.read().state, filter::SourceState::following);
  status.remark("");
  EXPECT_EQ(status.read().why, "");
}

TEST(FollowStatus, a_source_that_stays_down_was_lost_once) {
  LogStatus<LogPosition> status;
  status.lost("gone");
  status.lost("gone still");
  status.refused("a wrong password");
  EXPECT_EQ(status.read().state, filter::SourceState::refused);
  EXPECT_EQ(status.read().why, "a wrong password");
  status.lost("gone again");
  EXPECT_EQ(status.read().losses, 1U);
  status.following();
  status.lost("gone");
  EXPECT_EQ(status.read().losses, 2U);
  EXPECT_EQ(status.read().why, "gone");
}

TEST(FollowStatus, who_hears_that_a_position_is_reached_sees_what_was_done_before_it) {
  LogStatus<LogPosition> status;
  std::atomic<int> applied{0};
  std::jthread follower([&] {
    for (int i = 1; i <= 2'000; ++i) {
      applied.store(i, std::memory_order_relaxed);
      status.moved_to(at("0-1-" + std::to_string(i)));
    }
  });
  for (int i = 1; i <= 2'000; ++i) {
    while (status.reached("0-1-" + std::to_string(i)) != Reached::yes) {
      std::this_thread::yield();
    }
    ASSERT_GE(applied.load(std::memory_order_relaxed), i);
  }
}

}  // namespace
}  // namespace cuckooguard::source::mysql
