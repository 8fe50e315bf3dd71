#include <vector>

#include <gtest/gtest.h>

#include "views/process_state.h"

namespace cuckooguard::views {
namespace {

using std::chrono::seconds;

class HeartbeatTest : public testing::Test {
 protected:
  void turn() {
    for (const auto& each : posted_) {
      each();
    }
    posted_.clear();
  }

  io::TimePoint now_{std::chrono::hours(1)};
  std::vector<std::function<void()>> posted_;
  Heartbeat heartbeat_{"worker 0",
                       [this](std::function<void()> call) { posted_.push_back(std::move(call)); }};
};

TEST_F(HeartbeatTest, a_loop_that_turns_is_alive_however_seldom_one_asks) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(heartbeat_.is_alive(now_));
    now_ += Heartbeat::kStalledAfter * 100;
    turn();
  }
}

TEST_F(HeartbeatTest, a_loop_that_does_not_turn_is_not_and_is_again_when_it_does) {
  EXPECT_TRUE(heartbeat_.is_alive(now_));
  now_ += Heartbeat::kStalledAfter - seconds(1);
  EXPECT_TRUE(heartbeat_.is_alive(now_));
  now_ += seconds(1);
  EXPECT_FALSE(heartbeat_.is_alive(now_));
  EXPECT_EQ(posted_.size(), 1U) << "a loop that stands still is not buried under beats";
  turn();
  EXPECT_TRUE(heartbeat_.is_alive(now_));
}

TEST(Heartbeat, may_end_before_what_it_has_posted_runs) {
  std::function<void()> posted;
  {
    Heartbeat heartbeat("worker 0", [&](std::function<void()> call) { posted = std::move(call); });
    EXPECT_TRUE(heartbeat.is_alive(io::TimePoint(std::chrono::hours(1))));
  }
  posted();
}

}  // namespace
}  // namespace cuckooguard::views
