#include <gtest/gtest.h>

#include "views/process_state.h"

namespace cuckooguard::views {
namespace {

using std::chrono::seconds;

constexpr io::TimePoint kNow{seconds(1000)};

TEST(LoadBoardTest, tells_of_a_namespace_while_it_is_loaded) {
  LoadBoard board;
  EXPECT_FALSE(board.of("users", kNow));
  board.put(
      "users", {.rows = 41, .rows_expected = 100, .fraction = 0.41, .remaining = seconds(3)}, kNow);
  const auto load = board.of("users", kNow);
  ASSERT_TRUE(load);
  EXPECT_EQ(load->rows, 41U);
  EXPECT_EQ(load->remaining, seconds(3));
  EXPECT_FALSE(board.of("user", kNow)) << "another one whose name begins so";
  board.remove("users");
  EXPECT_FALSE(board.of("users", kNow));
}

TEST(LoadBoardTest, adds_up_the_tables_of_a_namespace_by_their_rows) {
  LoadBoard board;
  board.put(
      "users/a", {.rows = 90, .rows_expected = 100, .rows_per_second = 10, .fraction = 0.9}, kNow);
  board.put("users/b",
            {.rows = 0,
             .rows_expected = 300,
             .rows_per_second = 5,
             .fraction = 0,
             .remaining = seconds(60)},
            kNow);
  const auto load = board.of("users", kNow);
  ASSERT_TRUE(load);
  EXPECT_EQ(load->rows, 90U);
  EXPECT_EQ(load->rows_expected, 400U);
  EXPECT_EQ(load->rows_per_second, 15);
  EXPECT_DOUBLE_EQ(load->fraction, 0.225);
  EXPECT_EQ(load->remaining, seconds(60));
}

TEST(LoadBoardTest, forgets_a_load_of_which_nobody_speaks_any_more) {
  LoadBoard board;
  board.put("users", {.rows = 41}, kNow);
  EXPECT_TRUE(board.of("users", kNow + LoadBoard::kShownFor));
  EXPECT_FALSE(board.of("users", kNow + LoadBoard::kShownFor + seconds(1)));
}

}  // namespace
}  // namespace cuckooguard::views
