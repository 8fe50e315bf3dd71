#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "sqlite/log_follower.h"

namespace cuckooguard::source::sqlite {
namespace {

using Event = TouchedRows::Event;

constexpr RowName kRow{.low = 7, .high = 1};
constexpr std::uint64_t kHash = 70;

// What the filter is told of a row with these entries: +1, 0, -1; nothing if they are refused.
std::optional<int> told(const std::vector<Event>& log, bool is_there) {
  TouchedRows rows;
  for (const Event event : log) {
    if (!rows.add(kRow, kHash, event, is_there)) {
      return std::nullopt;
    }
  }
  if (!rows.is_explained()) {
    return std::nullopt;
  }
  int result = 0;
  rows.for_each_insert([&result](std::uint64_t hash) { result += hash == kHash ? 1 : 100; });
  rows.for_each_erase([&result](std::uint64_t hash) { result -= hash == kHash ? 1 : 100; });
  return result;
}

constexpr Event kCame = Event::came;
constexpr Event kGone = Event::gone;
constexpr Event kSeen = Event::seen;

TEST(TouchedRows, tell_the_difference_between_before_and_now) {
  EXPECT_EQ(told({kCame}, true), 1);
  EXPECT_EQ(told({kGone}, false), -1);
  EXPECT_EQ(told({kCame, kGone}, false), 0);
  EXPECT_EQ(told({kGone, kCame}, true), 0);
  EXPECT_EQ(told({kGone, kCame, kGone}, false), -1);
}

TEST(TouchedRows, leave_it_to_the_table_what_has_become_of_a_row_in_the_way) {
  EXPECT_EQ(told({kSeen}, true), 0);         // INSERT OR IGNORE, an upsert
  EXPECT_EQ(told({kSeen}, false), -1);       // replaced by another
  EXPECT_EQ(told({kSeen, kCame}, true), 0);  // replaced by itself
  EXPECT_EQ(told({kSeen, kGone, kCame}, true), 0);
  EXPECT_EQ(told({kCame, kSeen, kCame, kSeen}, false), 0);
}

// A trigger of the application's that takes away what is just being inserted has that logged first.
TEST(TouchedRows, refuse_what_was_logged_in_another_order_than_it_happened) {
  EXPECT_EQ(told({kGone, kCame}, false), std::nullopt);
  EXPECT_EQ(told({kGone, kCame, kCame}, true), std::nullopt);
  EXPECT_EQ(told({kSeen, kCame, kCame}, true), std::nullopt);
  EXPECT_EQ(told({kGone, kGone}, false), std::nullopt);
  EXPECT_EQ(told({kGone, kSeen}, true), std::nullopt);
  EXPECT_EQ(told({kCame}, false), std::nullopt);
  EXPECT_EQ(told({kGone}, true), std::nullopt);
}

// Of all orders in which the changes of a row can be logged, none makes the filter erase what it
// does not have, or lack what is there: with `was` before and strictly alternating changes,
// shuffled, the answer is right or refused.
TEST(TouchedRows, are_never_wrong_about_shuffled_changes) {
  for (const bool was_there : {false, true}) {
    for (int length = 1; length <= 6; ++length) {
      std::vector<Event> log;
      bool is_there = was_there;
      for (int i = 0; i < length; ++i) {
        log.push_back(is_there ? kGone : kCame);
        is_there = !is_there;
      }
      std::ranges::sort(log);
      do {
        const auto result = told(log, is_there);
        if (result) {
          EXPECT_EQ(*result, static_cast<int>(is_there) - static_cast<int>(was_there));
        }
      } while (std::next_permutation(log.begin(), log.end()));
    }
  }
}

}  // namespace
}  // namespace cuckooguard::source::sqlite
