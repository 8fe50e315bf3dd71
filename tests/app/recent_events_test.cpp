#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "app/assembly.h"
#include "log/written_log.h"

namespace cuckooguard::app {
namespace {

class RecentEventsTest : public testing::Test {
 protected:
  // The limit of the log (event_log.h) is not what this is about.
  void write(log::EventLog::Fields fields) {
    written_.now += log::EventLimits::kWindow;
    written_.log.info("state", fields);
  }

  log::WrittenLog written_{{.level = config::LogLevel::debug, .keys = config::LogKeys::plain}};
  std::shared_ptr<RecentEvents> events_ = RecentEvents::of(written_.log);
};

TEST_F(RecentEventsTest, are_what_was_logged_at_info_and_above_in_its_order) {
  written_.log.debug("state");
  written_.log.info("listening", {{"address", "x"}});
  written_.log.warning("upstream_down", {{"why", "it is gone"}});
  written_.log.error("accept_failed");
  const auto all = events_->after(0);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].text, "event=listening address=x");
  EXPECT_EQ(all[0].level, "info");
  EXPECT_EQ(all[1].text, "event=upstream_down why=\"it is gone\"");
  EXPECT_EQ(all[1].level, "warning");
  EXPECT_EQ(all[2].level, "error");
  EXPECT_GT(all[0].time.time_since_epoch().count(), 0);
}

TEST_F(RecentEventsTest, have_no_key_even_where_the_log_shows_it) {
  written_.log.error("hidden_row", {{"namespace", "users"}, {"key_hash", "1f"}, {"key", "user:1"}});
  EXPECT_EQ(events_->after(0).at(0).text, "event=hidden_row namespace=users key_hash=1f");
}

TEST_F(RecentEventsTest, who_knows_some_is_told_of_the_others_only) {
  for (int i = 1; i <= 5; ++i) {
    write({{"i", i}});
  }
  const auto rest = events_->after(3);
  ASSERT_EQ(rest.size(), 2U);
  EXPECT_EQ(rest[0].number, 4U);
  EXPECT_EQ(rest[0].text, "event=state i=4");
  EXPECT_TRUE(events_->after(5).empty());
}

TEST_F(RecentEventsTest, are_bounded_in_number_and_length) {
  for (std::size_t i = 0; i < RecentEvents::kLinesMax + 10; ++i) {
    write({{"i", i}});
  }
  write({{"why", std::string(100'000, 'x')}});
  const auto all = events_->after(0);
  EXPECT_EQ(all.size(), RecentEvents::kLinesMax);
  EXPECT_EQ(all.front().text, "event=state i=11");
  EXPECT_EQ(all.back().text.size(), RecentEvents::kLineBytesMax);
}

}  // namespace
}  // namespace cuckooguard::app
