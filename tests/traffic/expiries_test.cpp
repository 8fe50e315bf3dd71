#include "traffic/expiries.h"

#include <random>

#include <gtest/gtest.h>

namespace cuckooguard::traffic {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

class ExpiriesTest : public testing::Test {
 protected:
  void add(std::chrono::nanoseconds from_now, int times = 1) {
    for (int i = 0; i < times; ++i) {
      expiries_.add(now_ + from_now, now_);
    }
  }

  Expiries::TimePoint now_{hours(100)};
  Expiries expiries_;
};

TEST_F(ExpiriesTest, the_second_with_the_most_keys_is_told) {
  EXPECT_FALSE(expiries_.peak(now_));
  add(seconds(10), 3);
  add(minutes(50), 7);
  add(minutes(50) + milliseconds(999), 1);
  add(minutes(51), 7);
  const auto peak = expiries_.peak(now_);
  ASSERT_TRUE(peak);
  EXPECT_EQ(peak->keys, 8U);
  EXPECT_EQ(peak->from_now, minutes(50));
}

TEST_F(ExpiriesTest, what_is_over_is_forgotten) {
  add(seconds(10), 5);
  add(seconds(20), 2);
  now_ += seconds(11);
  EXPECT_EQ(expiries_.peak(now_)->keys, 2U);
  now_ += hours(1);
  EXPECT_FALSE(expiries_.peak(now_));
  add(-seconds(5), 9);
  EXPECT_FALSE(expiries_.peak(now_)) << "it was over when it was set";
}

TEST_F(ExpiriesTest, its_cell_is_the_next_seconds_when_it_is_over) {
  add(seconds(10), 5);
  now_ += seconds(Expiries::kCells);
  add(seconds(10), 1);
  EXPECT_EQ(expiries_.peak(now_)->keys, 1U);
}

// A batch loaded with a TTL of a day, among writes of all TTLs up to two days.
TEST_F(ExpiriesTest, many_keys_of_one_second_are_seen_however_late_it_is) {
  std::mt19937_64 random(7);
  add(hours(24) - seconds(Expiries::kCells), 3);  // has the batch's cell
  const auto scattered = [&] { add(seconds(1 + random() % 172'800)); };
  for (int i = 0; i < 200'000; ++i) {
    scattered();
  }
  add(hours(24), 20'000);
  for (int i = 0; i < 200'000; ++i) {
    scattered();
  }
  const auto peak = expiries_.peak(now_);
  EXPECT_EQ(peak->from_now, hours(24));
  EXPECT_GT(peak->keys, 19'000U);
  EXPECT_LE(peak->keys, 20'010U) << "never more than were told, but for chance";
}

}  // namespace
}  // namespace cuckooguard::traffic
