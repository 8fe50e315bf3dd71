#include "filter/epochs.h"

#include <gtest/gtest.h>

namespace cuckooguard::filter {
namespace {

TEST(Epochs, a_reader_outside_holds_nothing_back) {
  Epochs epochs(3);
  EXPECT_TRUE(epochs.passed(epochs.advance()));
}

TEST(Epochs, a_reader_that_entered_before_is_waited_for_until_it_leaves) {
  Epochs epochs(2);
  epochs.reader(1).enter();
  const std::uint64_t epoch = epochs.advance();
  EXPECT_FALSE(epochs.passed(epoch));
  epochs.reader(1).leave();
  EXPECT_TRUE(epochs.passed(epoch));
}

TEST(Epochs, a_reader_that_enters_again_without_leaving_is_past) {
  Epochs epochs(1);
  epochs.reader(0).enter();
  const std::uint64_t epoch = epochs.advance();
  epochs.reader(0).enter();
  EXPECT_TRUE(epochs.passed(epoch));
  EXPECT_FALSE(epochs.passed(epochs.advance()));
}

TEST(Epochs, a_scope_leaves_at_its_end) {
  Epochs epochs(1);
  std::uint64_t epoch = 0;
  {
    const EpochScope inside(epochs.reader(0));
    epoch = epochs.advance();
    EXPECT_FALSE(epochs.passed(epoch));
  }
  EXPECT_TRUE(epochs.passed(epoch));
}

}  // namespace
}  // namespace cuckooguard::filter
