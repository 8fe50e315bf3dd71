// Several readers and one writer at full load. The benchmark runs the same for 1e9 look-ups.

#include "filter/churn.h"

#include <gtest/gtest.h>

namespace cuckooguard::filter {
namespace {

class EveryLayoutsChurn : public ::testing::TestWithParam<Layout> {};

INSTANTIATE_TEST_SUITE_P(Churn,
                         EveryLayoutsChurn,
                         ::testing::ValuesIn(kLayouts),
                         [](const auto& layout) {
                           return std::string(shape_of(layout.param).name);
                         });

TEST_P(EveryLayoutsChurn, hides_no_key_that_stays) {
  const auto churn = testing::run_churn({.layout = GetParam(), .keys = 5'000, .lookups = 500'000});
  EXPECT_EQ(churn.hidden, 0);
  EXPECT_GT(churn.moves, 100) << "the writer has hardly run";
  EXPECT_FALSE(churn.full) << "a full filter hides nothing and proves nothing";
}

TEST(Churn, with_counts_hides_no_key_that_stays) {
  const auto churn = testing::run_churn(
      {.deletes = DeleteMode::exact, .keys = 5'000, .lookups = 500'000, .readers = 3});
  EXPECT_EQ(churn.hidden, 0);
  EXPECT_FALSE(churn.full);
}

}  // namespace
}  // namespace cuckooguard::filter
