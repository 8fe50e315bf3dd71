#include "guard/contradictions.h"

#include <string>

#include <gtest/gtest.h>

namespace cuckooguard::guard {
namespace {

TEST(Contradictions, come_out_in_order_and_are_open_until_something_is_found) {
  Contradictions all(2);
  all.add(1, "a");
  all.add(0, "a");
  EXPECT_EQ(all.counts(1).open, 1U);
  EXPECT_EQ(all.next()->ns, 1U);
  EXPECT_EQ(all.counts(1).open, 1U) << "it is being looked into";
  all.found(1, Cause::hidden_row);
  EXPECT_EQ(all.counts(1).open, 0U);
  EXPECT_EQ(all.counts(1).of(Cause::hidden_row), 1U);
  EXPECT_EQ(all.counts(0).of(Cause::hidden_row), 0U);
  EXPECT_EQ(all.next()->ns, 0U);
  EXPECT_EQ(all.next(), std::nullopt);
}

TEST(Contradictions, a_key_is_asked_about_once_until_all_is_forgotten) {
  Contradictions all(1);
  for (int i = 0; i < 1000; ++i) {
    all.add(0, "hot");
  }
  all.add(0, "cold");
  EXPECT_EQ(all.next()->key, "hot");
  EXPECT_EQ(all.next()->key, "cold");
  EXPECT_EQ(all.next(), std::nullopt);
  all.add(0, "hot");
  EXPECT_EQ(all.next(), std::nullopt);
  all.forget();
  all.add(0, "hot");
  EXPECT_EQ(all.next()->key, "hot");
}

TEST(Contradictions, more_than_may_wait_are_counted_and_not_kept) {
  Contradictions all(1);
  for (std::size_t i = 0; i < Contradictions::kWaitingMax + 7; ++i) {
    all.add(0, std::to_string(i));
  }
  EXPECT_EQ(all.counts(0).dropped, 7U);
  EXPECT_EQ(all.counts(0).open, Contradictions::kWaitingMax);
}

// An attacker who reads keys that only Redis has must not make it grow.
TEST(Contradictions, what_is_remembered_is_bounded) {
  Contradictions all(1);
  for (std::size_t i = 0; i < 3 * Contradictions::kRememberedMax; ++i) {
    all.add(0, std::to_string(i));
    ASSERT_EQ(all.next()->key, std::to_string(i));
    all.found(0, Cause::hidden_value);
  }
  all.add(0, "0");
  EXPECT_EQ(all.next()->key, "0") << "long forgotten";
}

}  // namespace
}  // namespace cuckooguard::guard
