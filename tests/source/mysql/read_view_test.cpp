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

// --- what is to be believed of a MariaDB's commits ---

constexpr std::uint64_t kStart = 300;  // of a file's first group

LogPlace place(std::uint64_t position, const std::string& file = "binlog.000002") {
  return {.file = file, .position = position};
}

Committed word(const LogPlace& place, std::uint64_t group_commits) {
  return {.place = place, .group_commits = group_commits};
}

TEST(CommitWitnessTest, believes_a_place_behind_a_group_that_the_log_has_in_its_file) {
  CommitWitness witness;
  witness.group_ends(place(900, "binlog.000001"));
  EXPECT_TRUE(witness.believes(place(900, "binlog.000001")));
  EXPECT_FALSE(witness.believes(place(kStart))) << "the group that filled the file may be missing";
  witness.file_begins("binlog.000002", false);
  EXPECT_FALSE(witness.believes(place(kStart)));
  witness.group_ends(place(400));
  witness.group_ends(place(500));
  EXPECT_FALSE(witness.believes(place(kStart)));
  EXPECT_TRUE(witness.believes(place(400)));
}

TEST(CommitWitnessTest, believes_a_server_that_was_started_with_the_file) {
  CommitWitness witness;
  witness.file_begins("binlog.000002", true);
  EXPECT_TRUE(witness.believes(place(kStart)));
  EXPECT_FALSE(witness.believes(place(kStart, "binlog.000003")));
}

TEST(CommitWitnessTest, believes_a_file_behind_two_group_commits) {
  CommitWitness witness;
  EXPECT_EQ(witness.hear(word(place(kStart), 7)), LogPlace());
  EXPECT_EQ(witness.hear(word(place(400), 8)), LogPlace()) << "may be that of the file before";
  EXPECT_EQ(witness.hear(word(place(500), 9)), place(500));
  EXPECT_EQ(witness.hear(word(place(kStart, "binlog.000003"), 9)), place(500))
      << "what was believed before";
  EXPECT_EQ(witness.hear(word(place(400, "binlog.000003"), 10)), place(500));
}

}  // namespace
}  // namespace cuckooguard::source::mysql
