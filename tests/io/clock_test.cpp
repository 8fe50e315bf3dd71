#include "io/clock.h"

#include <ctime>

#include <gtest/gtest.h>

namespace cuckooguard::io {
namespace {

TimePoint boot_time() {
  timespec reading{};
  ::clock_gettime(CLOCK_BOOTTIME, &reading);
  return TimePoint{std::chrono::seconds{reading.tv_sec} +
                   std::chrono::nanoseconds{reading.tv_nsec}};
}

TEST(Clock, is_the_time_since_boot_that_counts_suspension) {
  const TimePoint before = boot_time();
  const TimePoint now = now_since_boot();
  const TimePoint after = boot_time();
  EXPECT_LE(before, now);
  EXPECT_LE(now, after);
}

TEST(Clock, knows_the_calendar_too) {
  const auto before = std::chrono::system_clock::now() - std::chrono::milliseconds(1);
  const WallTime now = wall_time();
  EXPECT_LE(before, now);
  EXPECT_LE(now, std::chrono::system_clock::now());
}

}  // namespace
}  // namespace cuckooguard::io
