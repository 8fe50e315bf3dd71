#include "follow/position_proofs.h"

#include <algorithm>
#include <cstdint>

#include <gtest/gtest.h>

#include "source/bench.h"

namespace cuckooguard::source {
namespace {

struct Number {
  std::uint64_t value = 0;
  bool covers(const Number& other) const { return value >= other.value; }
};

TimePoint at(std::uint64_t time) {
  return TimePoint(milliseconds(time));
}

class PositionProofsTest : public testing::Test {
 protected:
  using Proofs = PositionProofs<Number>;
  static constexpr std::uint64_t kMany = 10 * Proofs::kUnprovenMax;

  PositionProofsTest() { proofs_.begin_at({.value = 0}); }

  // One question a millisecond, each of which finds one transaction more.
  void ask(std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t time = from; time <= to; ++time) {
      ASSERT_TRUE(proofs_.add(at(time), at(time + 1), {.value = time}));
    }
  }

  Proofs proofs_;
};

TEST_F(PositionProofsTest, the_latest_time_that_is_covered_is_proven_once) {
  ask(1, 5);
  EXPECT_EQ(proofs_.take_proven({.value = 0}), std::nullopt);
  EXPECT_EQ(proofs_.take_proven({.value = 3}), at(3));
  EXPECT_EQ(proofs_.take_proven({.value = 3}), std::nullopt);
  EXPECT_EQ(proofs_.take_proven({.value = 9}), at(5));
}

// MySQL: transactions that it has executed, and never logged.
TEST_F(PositionProofsTest, a_log_lacks_what_it_does_not_have_by_the_place_of_an_answer) {
  PositionProofs<Number, std::uint64_t> proofs;
  proofs.begin_at({.value = 0});
  ASSERT_TRUE(proofs.add(at(1), at(2), {.value = 7}, 400));
  EXPECT_FALSE(proofs.is_lacking({.value = 3}, 399)) << "it may still come";
  EXPECT_FALSE(proofs.is_lacking({.value = 7}, 399));
  EXPECT_TRUE(proofs.is_lacking({.value = 6}, 400));
  EXPECT_FALSE(proofs.is_lacking({.value = 7}, 400));
  EXPECT_EQ(proofs.take_proven({.value = 7}, 400), at(1));
  ASSERT_TRUE(proofs.add(at(3), at(4), {.value = 8}));
  EXPECT_FALSE(proofs.is_lacking({.value = 7}, 500)) << "no place was told";
}

TEST_F(PositionProofsTest, the_oldest_question_is_kept_however_many_come_after_it) {
  ask(1, kMany);
  EXPECT_EQ(proofs_.take_proven({.value = 1}), at(1));
}

TEST_F(PositionProofsTest, a_log_that_is_always_late_proves_something_all_the_time) {
  constexpr std::uint64_t kLate = 5 * Proofs::kUnprovenMax;
  std::uint64_t last = 0;
  std::uint64_t longest = 0;  // without a proof
  for (std::uint64_t now = 1; now <= kMany; ++now) {
    ask(now, now);
    if (const auto proven = proofs_.take_proven({.value = now > kLate ? now - kLate : 0})) {
      ASSERT_LE(*proven, at(now - kLate));
      last = now;
    }
    longest = now > kLate ? std::max(longest, now - last) : 0;
  }
  EXPECT_LE(longest, kLate / 8);
}

TEST_F(PositionProofsTest, the_newest_question_is_proven_however_many_came_before_it) {
  ask(1, kMany);
  EXPECT_EQ(proofs_.take_proven({.value = kMany}), at(kMany));
}

TEST_F(PositionProofsTest, a_position_that_has_gone_back_proves_nothing) {
  ask(1, 5);
  EXPECT_FALSE(proofs_.add(at(6), at(7), {.value = 4}));
  EXPECT_EQ(proofs_.take_proven({.value = 9}), std::nullopt);
}

TEST_F(PositionProofsTest, a_commit_lies_between_two_questions) {
  ask(1, 3);  // each answered a millisecond later
  EXPECT_EQ(proofs_.commit_times(Number{2}).since, at(1));
  EXPECT_EQ(proofs_.commit_times(Number{2}).by, at(3));
  EXPECT_EQ(proofs_.commit_times(Number{1}).since, TimePoint::min())
      << "nothing is known of before";
  EXPECT_EQ(proofs_.commit_times(Number{4}).since, at(3));
  EXPECT_EQ(proofs_.commit_times(Number{4}).by, TimePoint::max()) << "nobody has asked since";
  proofs_.take_proven({.value = 2});
  EXPECT_EQ(proofs_.commit_times(Number{3}).since, at(2)) << "what is proven is remembered";
  EXPECT_EQ(proofs_.commit_times(Number{3}).by, at(4));
  proofs_.begin_at({.value = 0});
  EXPECT_EQ(proofs_.commit_times(Number{1}).since, TimePoint::min());
}

// The log was read so far by numbers, and not yet by its files.
TEST(PositionProofs, a_place_is_proven_when_it_is_reached_too) {
  PositionProofs<Number, std::uint64_t> proofs;
  ASSERT_TRUE(proofs.add(at(1), at(1), {.value = 1}, 100));
  ASSERT_TRUE(proofs.add(at(2), at(2), {.value = 1}, 200));
  EXPECT_EQ(proofs.take_proven({.value = 1}, 99), std::nullopt);
  EXPECT_EQ(proofs.take_proven({.value = 0}, 100), std::nullopt);
  EXPECT_EQ(proofs.take_proven({.value = 1}, 199), at(1));
  EXPECT_EQ(proofs.take_proven({.value = 1}, 200), at(2));
}

}  // namespace
}  // namespace cuckooguard::source
