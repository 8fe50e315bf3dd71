// Which view is taken; what one shows is asked of a real server (integration/exactness).
#include "mysql/read_view.h"

#include <gtest/gtest.h>

namespace cuckooguard::source::mysql {
namespace {

LogPosition at(std::uint64_t sequence) {
  return LogPosition::parse("0-1-" + std::to_string(sequence), true).value();
}

class CurrentViewTest : public testing::Test {
 protected:
  // Each view shows one transaction more.
  std::expected<ReadView, Error> open_until(std::uint64_t applied) {
    return open_current_view(
        at(applied),
        [this]() -> std::expected<ReadView, Error> {
          return ReadView{.covered = at(++opened_), .window_end = std::nullopt};
        },
        [this]() -> std::expected<void, Error> {
          ++closed_;
          return {};
        });
  }

  std::uint64_t opened_ = 0;
  std::uint64_t closed_ = 0;
};

TEST_F(CurrentViewTest, shows_all_that_the_log_had_said_before_its_word_was_kept) {
  const auto view = open_until(3);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->covered, at(3));
  EXPECT_EQ(opened_, 3U);
  EXPECT_EQ(closed_, 2U) << "those that did not";
}

TEST_F(CurrentViewTest, is_not_waited_for_without_end) {
  EXPECT_FALSE(open_until(1'000'000));
  EXPECT_EQ(opened_, static_cast<std::uint64_t>(kViewsMax));
}

}  // namespace
}  // namespace cuckooguard::source::mysql
