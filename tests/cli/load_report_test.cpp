#include "cli/load_report.h"

#include <gtest/gtest.h>

namespace cuckooguard::cli {
namespace {

using std::chrono::milliseconds;

TEST(LoadReport, a_load_shows_rows_percent_rate_and_time_left) {
  EXPECT_EQ(describe({.ns = "users",
                      .rows = 410'000,
                      .rows_expected = 1'000'000,
                      .rows_per_second = 3'100'000.4,
                      .fraction = 0.41,
                      .elapsed = milliseconds(132),
                      .remaining = milliseconds(190)}),
            "users: 410,000 of 1,000,000 rows, 41 %, 3,100,000 rows/s, 0.2 s left");
}

TEST(LoadReport, what_is_not_known_is_not_shown) {
  EXPECT_EQ(describe({.ns = "users", .rows = 999, .rows_per_second = 100, .fraction = 0.5}),
            "users: 999 rows, 50 %, 100 rows/s");
}

TEST(LoadReport, a_finished_load_says_how_long_it_took) {
  EXPECT_EQ(describe({.ns = "users",
                      .rows = 1'000'000,
                      .rows_expected = 1'000'000,
                      .rows_per_second = 4'000'000,
                      .fraction = 1,
                      .elapsed = milliseconds(250),
                      .complete = true}),
            "users: 1,000,000 rows, 4,000,000 rows/s, in 0.25 s");
}

}  // namespace
}  // namespace cuckooguard::cli
