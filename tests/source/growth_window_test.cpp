#include <limits>

#include <gtest/gtest.h>

#include "source/feeds.h"

namespace cuckooguard::source {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr config::FreshIds kAutomatic{};

TEST(GrowthWindow, a_quiet_table_has_sixteen) {
  GrowthWindow window(kAutomatic, seconds(1));
  EXPECT_EQ(window.next(1000, seconds(0), true), 16U);
  EXPECT_EQ(window.next(1001, seconds(3600), true), 16U);
}

TEST(GrowthWindow, a_burst_within_max_lag_counts_four_times_in_full) {
  GrowthWindow window(kAutomatic, seconds(1));
  window.next(1000, seconds(0), true);
  EXPECT_EQ(window.next(1100, milliseconds(20), true), 400U);
}

TEST(GrowthWindow, inserts_over_a_longer_time_count_by_their_average) {
  GrowthWindow window(kAutomatic, seconds(1));
  window.next(1000, seconds(0), true);
  EXPECT_EQ(window.next(11000, seconds(10), true), 4000U);
}

TEST(GrowthWindow, a_burst_is_forgotten_by_halves) {
  GrowthWindow window(kAutomatic, seconds(1));
  window.next(1000, seconds(0), true);
  EXPECT_EQ(window.next(1100, milliseconds(20), true), 400U);
  EXPECT_EQ(window.next(1100, milliseconds(20), true), 200U);
  EXPECT_EQ(window.next(1100, milliseconds(20), true), 100U);
}

TEST(GrowthWindow, ids_that_went_down_are_no_inserts) {
  GrowthWindow window(kAutomatic, seconds(1));
  window.next(1000, seconds(0), true);
  EXPECT_EQ(window.next(10, milliseconds(20), true), 16U);
}

TEST(GrowthWindow, the_largest_numbers_do_not_wrap_round) {
  GrowthWindow window(kAutomatic, seconds(1));
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
  window.next(0, seconds(0), true);
  EXPECT_GE(window.next(kMost, milliseconds(1), true), kMost / 2);
}

TEST(GrowthWindow, a_column_that_does_not_grow_has_none_unless_a_number_is_given) {
  GrowthWindow window(kAutomatic, seconds(1));
  EXPECT_EQ(window.next(1000, seconds(0), false), 0U);
  GrowthWindow given({.kind = config::FreshIds::Kind::window, .window = 99}, seconds(1));
  EXPECT_EQ(given.next(1000, seconds(0), false), 99U);
  GrowthWindow off({.kind = config::FreshIds::Kind::off}, seconds(1));
  EXPECT_EQ(off.next(1000, seconds(0), true), 0U);
}

}  // namespace
}  // namespace cuckooguard::source
