#include <gtest/gtest.h>

#include "source/follower.h"

namespace cuckooguard::source {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

TEST(HourlyCount, has_what_was_in_the_last_hour_and_no_more) {
  const std::chrono::steady_clock::time_point begin{minutes(1'000)};
  HourlyCount count;
  EXPECT_EQ(count.total(), 0U);
  count.add(3, begin);
  count.add(4, begin + seconds(59));
  count.add(5, begin + minutes(30));
  EXPECT_EQ(count.total(), 12U);
  count.add(0, begin + minutes(59));
  EXPECT_EQ(count.total(), 12U);
  count.add(0, begin + minutes(60));
  EXPECT_EQ(count.total(), 5U);
  count.add(1, begin + minutes(500));
  EXPECT_EQ(count.total(), 1U);
  count.add(0, begin + minutes(560));
  EXPECT_EQ(count.total(), 0U);
}

}  // namespace
}  // namespace cuckooguard::source
