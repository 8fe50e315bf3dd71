#include "filter/absent_reads.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "filter/epochs.h"

namespace cuckooguard::filter {
namespace {

using std::chrono::milliseconds;
using Kind = AbsentReads::Kind;
using TimePoint = AbsentReads::TimePoint;

TimePoint at(int time) {
  return TimePoint(milliseconds(time));
}

class AbsentReadsTest : public testing::Test {
 protected:
  // Between questions that began at `since` and was answered at `by`.
  void commit(std::uint64_t hash, int since, int by) {
    reads_.committed({&hash, 1}, {.since = at(since), .by = at(by)}, epochs_);
    look();
  }
  void look() { reads_.look(epochs_, TimePoint::max()); }
  std::uint64_t hidden() const { return reads_.findings().hidden_by_lag; }
  std::uint64_t at_commit() const { return reads_.findings().at_commit; }
  std::uint64_t before() const { return reads_.findings().before_commit; }

  Epochs epochs_{2};
  AbsentReads reads_;
};

TEST_F(AbsentReadsTest, a_read_behind_the_answer_that_shows_the_commit_was_told_what_was_wrong) {
  reads_.add(7, at(30), "user:7", Kind::lag);
  commit(7, 10, 20);
  const AbsentReads::Findings seen = reads_.findings();
  EXPECT_EQ(seen.hidden_by_lag, 1U);
  EXPECT_EQ(seen.before_commit, 0U);
  EXPECT_EQ(seen.lag_least, milliseconds(10));
  EXPECT_EQ(seen.lag_most, milliseconds(20));
  EXPECT_EQ(seen.key, "user:7");
}

TEST_F(AbsentReadsTest, a_read_before_the_last_question_that_lacks_the_commit_came_before_it) {
  reads_.add(7, at(9), "user:7", Kind::lag);
  commit(7, 10, 20);
  EXPECT_EQ(before(), 1U);
  EXPECT_EQ(hidden() + at_commit(), 0U);
}

TEST_F(AbsentReadsTest, of_a_read_between_the_two_questions_nobody_knows) {
  reads_.add(7, at(10), "user:7", Kind::lag);
  commit(7, 10, 20);
  reads_.add(8, at(19), "user:8", Kind::lag);
  commit(8, 10, 20);
  reads_.add(9, at(1000), "user:9", Kind::lag);
  const std::uint64_t hash = 9;
  reads_.committed({&hash, 1}, {}, epochs_);  // nobody has asked since
  look();
  EXPECT_EQ(at_commit(), 3U);
  EXPECT_EQ(hidden() + before(), 0U);
}

TEST_F(AbsentReadsTest, a_read_of_long_before_is_no_read_of_that_row) {
  reads_.add(7, at(0), "user:7", Kind::lag);
  commit(7, 10'001, 10'002);
  EXPECT_EQ(before(), 0U);
  reads_.add(7, at(1), "user:7", Kind::lag);
  commit(7, 10'001, 10'002);
  EXPECT_EQ(before(), 1U);
}

TEST_F(AbsentReadsTest, what_was_said_in_spite_of_a_proof_counts_apart) {
  reads_.add(7, at(30), "user:7", Kind::proof);
  commit(7, 10, 20);
  EXPECT_EQ(reads_.findings().hidden_in_spite_of_proof, 1U);
  EXPECT_EQ(hidden(), 0U);
}

// Then it was absent rightly.
TEST_F(AbsentReadsTest, a_row_that_had_gone_again_was_not_hidden) {
  reads_.add(7, at(30), "user:7", Kind::lag);
  std::uint64_t hash = 7;
  reads_.committed({&hash, 1}, {.since = at(10), .by = at(20)}, epochs_);
  reads_.look(epochs_, at(30));
  EXPECT_EQ(hidden(), 0U) << "nothing is proven behind the read";
  reads_.erased(7);
  look();
  EXPECT_EQ(hidden(), 0U);
  hash = 8;
  reads_.add(8, at(30), "user:8", Kind::lag);
  reads_.committed({&hash, 1}, {.since = at(10), .by = at(20)}, epochs_);
  reads_.erased(7);
  reads_.look(epochs_, at(31));
  EXPECT_EQ(hidden(), 1U);
}

TEST_F(AbsentReadsTest, a_read_that_would_have_waited_for_its_proof_is_not_held_against_anybody) {
  reads_.add(7, at(30), "user:7", Kind::would_wait);
  commit(7, 10, 20);
  reads_.add(8, at(15), "user:8", Kind::would_wait);
  commit(8, 10, 20);
  EXPECT_EQ(hidden() + at_commit() + before(), 0U);
  reads_.add(9, at(9), "user:9", Kind::would_wait);
  commit(9, 10, 20);
  EXPECT_EQ(before(), 1U);
}

TEST_F(AbsentReadsTest,
       of_one_whose_commit_may_be_long_ago_it_is_not_known_how_long_it_was_hidden) {
  reads_.add(7, at(30), "user:7", Kind::lag);
  const std::uint64_t hash = 7;
  reads_.committed({&hash, 1}, {.by = at(20)}, epochs_);
  look();
  EXPECT_EQ(reads_.findings().lag_least, milliseconds(10));
  EXPECT_EQ(reads_.findings().lag_most, std::nullopt);
}

// A worker has found nothing, the row comes, and then the worker says so.
TEST_F(AbsentReadsTest, a_read_that_is_added_while_its_worker_is_busy_is_found) {
  reads_.add(2, at(1), "another", Kind::lag);
  epochs_.reader(1).enter();
  commit(7, 10, 20);
  reads_.add(7, at(30), "user:7", Kind::lag);
  look();
  EXPECT_EQ(hidden(), 0U) << "it may yet be added";
  epochs_.reader(1).leave();
  look();
  EXPECT_EQ(hidden(), 1U);
}

TEST_F(AbsentReadsTest, a_row_that_comes_again_is_one_that_was_read_once) {
  reads_.add(7, at(30), "user:7", Kind::lag);
  commit(7, 10, 20);
  commit(7, 10, 20);
  EXPECT_EQ(hidden(), 1U);
}

TEST_F(AbsentReadsTest, other_rows_are_nobodys_concern) {
  reads_.add(7, at(30), "user:7", Kind::lag);
  commit(8, 10, 20);
  commit(7 + AbsentReads::kReads, 10, 20);  // at the same place
  EXPECT_EQ(hidden() + before(), 0U);
}

TEST_F(AbsentReadsTest, keys_are_kept_up_to_a_length) {
  const std::string longest(AbsentReads::kKeyBytes, 'k');
  reads_.add(7, at(30), longest + "x", Kind::lag);
  commit(7, 10, 20);
  EXPECT_EQ(reads_.findings().key, longest);
  EXPECT_FALSE(reads_.findings().is_key_whole);
  reads_.add(8, at(30), longest, Kind::lag);
  commit(8, 10, 20);
  EXPECT_EQ(reads_.findings().key, longest);
  EXPECT_TRUE(reads_.findings().is_key_whole);
}

TEST_F(AbsentReadsTest, as_many_rows_wait_for_a_worker_as_there_is_room_for) {
  constexpr std::size_t kMany = 3 * AbsentReads::kCommits;
  std::vector<std::uint64_t> hashes;
  for (std::size_t i = 0; i < kMany; ++i) {
    hashes.push_back(i + 2);
    reads_.add(i + 2, at(30), "", Kind::lag);
  }
  epochs_.reader(0).enter();
  for (std::size_t i = 0; i < kMany; i += 7) {
    reads_.committed(std::span(hashes).subspan(i, std::min<std::size_t>(7, kMany - i)),
                     {.since = at(10), .by = at(20)},
                     epochs_);
  }
  epochs_.reader(0).leave();
  look();
  EXPECT_EQ(hidden(), AbsentReads::kCommits);
  commit(kMany + 1, 10, 20);
  EXPECT_EQ(hidden(), AbsentReads::kCommits + 1) << "there is room again";
}

// A worker writes again and again to one place while the source looks there: what it finds is what
// was added together.
TEST_F(AbsentReadsTest, what_is_found_belongs_together) {
  const auto read_at = [](std::uint64_t hash) { return at(1000 + static_cast<int>(hash % 997)); };
  std::atomic<std::uint64_t> newest{2};
  std::jthread worker([&](const std::stop_token& stop) {
    for (std::uint64_t hash = 2; !stop.stop_requested(); hash += AbsentReads::kReads) {
      const EpochScope inside(epochs_.reader(0));
      reads_.add(hash, read_at(hash), std::to_string(hash), Kind::lag);
      newest = hash;
    }
  });
  std::uint64_t found = 0;
  while (found < 50) {
    const std::uint64_t hash = newest;
    reads_.committed({&hash, 1}, {.since = at(0), .by = read_at(hash)}, epochs_);
    do {
      look();
    } while (!epochs_.passed(epochs_.advance()));
    const AbsentReads::Findings seen = reads_.findings();
    ASSERT_EQ(seen.before_commit + seen.at_commit, 0U);
    ASSERT_EQ(seen.lag_least, milliseconds(0));
    if (seen.hidden_by_lag > found) {
      found = seen.hidden_by_lag;
      ASSERT_EQ(seen.key, std::to_string(hash));
    }
  }
}

}  // namespace
}  // namespace cuckooguard::filter
