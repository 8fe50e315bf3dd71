#include <gtest/gtest.h>

#include "guard/counters.h"

namespace cuckooguard::guard {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Reads that come evenly, looked at once a second.
class AttackWatchTest : public testing::Test {
 protected:
  AttackWatchTest() { watch_.look(now_, reads_, tolerate_); }

  // The last change within that time.
  std::optional<AttackWatch::Change> go_on(seconds time, std::uint64_t per_second) {
    std::optional<AttackWatch::Change> last;
    for (seconds passed{0}; passed < time; passed += seconds(1)) {
      now_ += seconds(1);
      reads_ += per_second;
      if (const auto change = watch_.look(now_, reads_, tolerate_)) {
        last = change;
      }
    }
    return last;
  }

  AttackWatch watch_;
  AttackWatch::TimePoint now_{seconds(1000)};
  std::uint64_t reads_ = 7;
  double tolerate_ = 0;
};

TEST_F(AttackWatchTest, begins_above_ten_reads_a_second_over_five_seconds) {
  EXPECT_FALSE(go_on(seconds(60), 10)) << "as many as that are none";
  EXPECT_DOUBLE_EQ(watch_.rate(), 10);
  const auto begun = go_on(seconds(5), 11);
  ASSERT_TRUE(begun);
  EXPECT_TRUE(begun->has_begun);
  EXPECT_TRUE(watch_.is_on());
  EXPECT_GT(begun->rate, 10);
  EXPECT_FALSE(go_on(seconds(100), 11)) << "it is told once";
}

TEST_F(AttackWatchTest, a_burst_is_one_as_soon_as_it_is_more_than_a_window_may_have) {
  EXPECT_FALSE(go_on(seconds(1), 50)) << "10/s over 5 s, though only one has passed";
  const auto begun = go_on(seconds(1), 1);
  ASSERT_TRUE(begun);
  EXPECT_DOUBLE_EQ(begun->rate, 51.0 / 5);
}

TEST_F(AttackWatchTest, what_was_read_before_the_first_look_is_no_attack) {
  AttackWatch late;
  EXPECT_FALSE(late.look(now_, 1'000'000, 0));
  EXPECT_FALSE(late.look(now_ + seconds(1), 1'000'000, 0));
  EXPECT_EQ(late.rate(), 0);
}

TEST_F(AttackWatchTest, twice_of_what_is_tolerated_is_none) {
  tolerate_ = 100;
  EXPECT_FALSE(go_on(seconds(60), 200));
  EXPECT_TRUE(go_on(seconds(60), 201));
}

TEST_F(AttackWatchTest, ends_when_it_has_been_below_half_of_the_limit_for_thirty_seconds) {
  go_on(seconds(60), 1000);
  ASSERT_TRUE(watch_.is_on());
  EXPECT_FALSE(go_on(seconds(100), 5)) << "half of it is not below that";
  EXPECT_FALSE(go_on(seconds(28), 4));
  EXPECT_FALSE(go_on(seconds(5), 6)) << "from then on it counts again";
  EXPECT_FALSE(go_on(seconds(32), 4)) << "the first two have some of those six in their window";
  EXPECT_TRUE(watch_.is_on());
  const auto ended = go_on(seconds(5), 4);
  ASSERT_TRUE(ended);
  EXPECT_FALSE(ended->has_begun);
  EXPECT_FALSE(watch_.is_on());
  EXPECT_DOUBLE_EQ(ended->rate, 4);
  EXPECT_DOUBLE_EQ(ended->peak, 1000);
  EXPECT_DOUBLE_EQ(watch_.peak(), 1000) << "until the next one";
}

TEST_F(AttackWatchTest, of_the_whole_attack_it_tells_how_long_it_took_and_how_many_reads_came) {
  go_on(seconds(20), 0);
  go_on(seconds(40), 1000);
  EXPECT_EQ(watch_.reads(), 40'000U);
  EXPECT_LE(now_ - watch_.began_at(), seconds(45)) << "with the window in which it was noticed";
  EXPECT_GE(now_ - watch_.began_at(), seconds(40));
  const auto ended = go_on(seconds(100), 0);
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->reads, 40'000U);
  EXPECT_GE(ended->lasted, seconds(40));
  EXPECT_LE(ended->lasted, seconds(50)) << "without the silence behind it";
  const auto next = go_on(seconds(2), 100);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->reads, 100U) << "of the first second, in which it was one already";
  EXPECT_DOUBLE_EQ(watch_.peak(), 200.0 / 5);
}

TEST_F(AttackWatchTest, looks_once_a_second_however_often_it_is_called) {
  for (int i = 0; i < 100; ++i) {
    now_ += milliseconds(200);
    reads_ += 2;
    EXPECT_FALSE(watch_.look(now_, reads_, tolerate_)) << "10/s";
  }
  EXPECT_DOUBLE_EQ(watch_.rate(), 10);
  EXPECT_FALSE(watch_.look(now_ + milliseconds(999), reads_ + 1000, tolerate_));
  EXPECT_TRUE(watch_.look(now_ + milliseconds(1000), reads_ + 1000, tolerate_));
}

TEST_F(AttackWatchTest, after_a_pause_the_rate_is_of_all_that_time) {
  now_ += seconds(3600);
  reads_ += 3600;
  EXPECT_FALSE(watch_.look(now_, reads_, tolerate_));
  EXPECT_DOUBLE_EQ(watch_.rate(), 1);
}

}  // namespace
}  // namespace cuckooguard::guard
