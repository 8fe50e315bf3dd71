#include "cli/recent_events.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <spdlog/logger.h>

namespace cuckooguard::cli {
namespace {

class RecentEventsTest : public testing::Test {
 protected:
  RecentEventsTest() { RecentEvents::hear(events_, logger_); }

  std::shared_ptr<RecentEvents> events_ = std::make_shared<RecentEvents>();
  spdlog::logger logger_{"test"};
};

TEST_F(RecentEventsTest, are_what_was_logged_at_info_and_above_in_its_order) {
  logger_.set_level(spdlog::level::debug);
  logger_.set_pattern("anything");
  logger_.debug("event=detail");
  logger_.info("event=listening address={}", "x");
  logger_.warn("event=lost");
  logger_.error("event=worse");
  const auto all = events_->after(0);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].text, "event=listening address=x");
  EXPECT_EQ(all[0].level, "info");
  EXPECT_EQ(all[1].level, "warning");
  EXPECT_EQ(all[2].level, "error");
  EXPECT_GT(all[0].time.time_since_epoch().count(), 0);
}

TEST_F(RecentEventsTest, who_knows_some_is_told_of_the_others_only) {
  for (int i = 1; i <= 5; ++i) {
    logger_.info("event={}", i);
  }
  const auto rest = events_->after(3);
  ASSERT_EQ(rest.size(), 2U);
  EXPECT_EQ(rest[0].number, 4U);
  EXPECT_EQ(rest[0].text, "event=4");
  EXPECT_TRUE(events_->after(5).empty());
}

TEST_F(RecentEventsTest, are_bounded_in_number_and_length) {
  for (std::size_t i = 0; i < RecentEvents::kLinesMax + 10; ++i) {
    logger_.info("event={}", i);
  }
  logger_.info(std::string(100'000, 'x'));
  const auto all = events_->after(0);
  EXPECT_EQ(all.size(), RecentEvents::kLinesMax);
  EXPECT_EQ(all.front().text, "event=11");
  EXPECT_EQ(all.back().text.size(), RecentEvents::kLineBytesMax);
}

}  // namespace
}  // namespace cuckooguard::cli
