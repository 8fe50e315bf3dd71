#include <chrono>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include "pgoutput/message.h"

namespace cuckooguard::pgoutput {
namespace {

using namespace std::chrono_literals;

TEST(Timestamp, counts_from_the_year_2000) {
  EXPECT_EQ(Timestamp{}.time(), std::chrono::sys_days(2000y / 1 / 1));
  EXPECT_EQ(Timestamp{1'500'000}.time(), std::chrono::sys_days(2000y / 1 / 1) + 1500ms);
  EXPECT_EQ(Timestamp::of(std::chrono::sys_days(1970y / 1 / 1)), Timestamp{-946'684'800'000'000});
}

TEST(Timestamp, of_a_clock_comes_back) {
  const auto now = std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
  EXPECT_EQ(Timestamp::of(now).time(), now);
}

TEST(Timestamp, that_no_clock_shows_does_not_wrap) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_GT(Timestamp{kMost}.time(), Timestamp{}.time());
  EXPECT_LT(Timestamp{std::numeric_limits<std::int64_t>::min()}.time(), Timestamp{}.time());
}

}  // namespace
}  // namespace cuckooguard::pgoutput
