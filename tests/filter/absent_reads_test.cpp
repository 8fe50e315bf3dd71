#include "filter/absent_reads.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
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
    reads_.look(epochs_);
  }
  std::uint64_t hidden() const { return reads_.findings().hidden_by_lag; }
  std::uint64_t before() const { return reads_.findings().before_commit; }

  Epochs epochs_{2};
  AbsentReads reads_;
};

TEST_F(AbsentReadsTest, a_read_behind_the_answer_that_shows_the_commit_was_told_what_was_wrong) {
  reads_.add(7, at(30), "user:7", Kind::told);
  commit(7, 10, 20);
  const AbsentReads::Findings seen = reads_.findings();
  EXPECT_EQ(seen.hidden_by_lag, 1U);
  EXPECT_EQ(seen.before_commit, 0U);
  EXPECT_EQ(seen.lag_least, milliseconds(10));
  EXPECT_EQ(seen.lag_most, milliseconds(20));
  EXPECT_EQ(seen.key, "user:7");
}

TEST_F(AbsentReadsTest, a_read_that_no_answer_places_behind_the_commit_came_before_it) {
  reads_.add(7, at(19), "user:7", Kind::told);
  commit(7, 10, 20);
  EXPECT_EQ(hidden(), 0U);
  EXPECT_EQ(before(), 1U);
  reads_.add(8, at(1000), "user:8", Kind::told);
  std::uint64_t hash = 8;
  reads_.committed({&hash, 1}, {}, epochs_);  // nobody has asked since
  reads_.look(epochs_);
  EXPECT_EQ(hidden(), 0U);
  EXPECT_EQ(before(), 2U);
}

TEST_F(AbsentReadsTest, a_read_that_would_have_waited_for_its_proof_is_not_held_against_anybody) {
  reads_.add(7, at(30), "user:7", Kind::awaited);
  commit(7, 10, 20);
  reads_.add(8, at(15), "user:8", Kind::awaited);
  commit(8, 10, 20);
  EXPECT_EQ(hidden(), 0U);
  EXPECT_EQ(before(), 1U);
}

TEST_F(AbsentReadsTest, the_worst_of_all_is_told) {
  for (const int late : {5, 30, 10}) {
    reads_.add(static_cast<std::uint64_t>(late), at(20 + late), "", Kind::told);
    commit(static_cast<std::uint64_t>(late), 10, 20);
  }
  EXPECT_EQ(reads_.findings().lag_least, milliseconds(30));
  EXPECT_EQ(reads_.findings().lag_most, milliseconds(40));
}

// A worker has found nothing, the row comes, and then the worker says so.
TEST_F(AbsentReadsTest, a_read_that_is_added_while_its_worker_is_busy_is_found) {
  reads_.add(1, at(1), "another", Kind::told);
  epochs_.reader(1).enter();
  commit(7, 10, 20);
  reads_.add(7, at(30), "user:7", Kind::told);
  reads_.look(epochs_);
  EXPECT_EQ(hidden(), 0U) << "it may yet be added";
  epochs_.reader(1).leave();
  reads_.look(epochs_);
  EXPECT_EQ(hidden(), 1U);
}

TEST_F(AbsentReadsTest, a_row_that_comes_again_is_one_that_was_read_once) {
  reads_.add(7, at(30), "user:7", Kind::told);
  commit(7, 10, 20);
  commit(7, 10, 20);
  EXPECT_EQ(hidden(), 1U);
}

TEST_F(AbsentReadsTest, other_rows_are_nobodys_concern) {
  reads_.add(7, at(30), "user:7", Kind::told);
  commit(8, 10, 20);
  commit(7 + AbsentReads::kReads, 10, 20);  // at the same place
  EXPECT_EQ(hidden() + before(), 0U);
}

TEST_F(AbsentReadsTest, keys_are_kept_up_to_a_length) {
  const std::string longest(AbsentReads::kKeyBytes, 'k');
  reads_.add(7, at(30), longest + "x", Kind::told);
  commit(7, 10, 20);
  EXPECT_EQ(reads_.findings().key, longest);
}

TEST_F(AbsentReadsTest, as_many_rows_wait_for_a_worker_as_there_is_room_for) {
  constexpr std::size_t kMany = 3 * AbsentReads::kCommits;
  std::vector<std::uint64_t> hashes;
  for (std::size_t i = 0; i < kMany; ++i) {
    hashes.push_back(i);
    reads_.add(i, at(30), "", Kind::told);
  }
  epochs_.reader(0).enter();
  for (std::size_t i = 0; i < kMany; i += 7) {
    reads_.committed(std::span(hashes).subspan(i, std::min<std::size_t>(7, kMany - i)),
                     {.since = at(10), .by = at(20)},
                     epochs_);
  }
  epochs_.reader(0).leave();
  reads_.look(epochs_);
  EXPECT_EQ(hidden(), AbsentReads::kCommits);
  commit(kMany - 1, 10, 20);
  EXPECT_EQ(hidden(), AbsentReads::kCommits + 1) << "there is room again";
}

// A worker writes again and again to one place while the source looks there: what it finds is what
// was added together.
TEST_F(AbsentReadsTest, what_is_found_belongs_together) {
  const auto read_at = [](std::uint64_t hash) { return at(1000 + static_cast<int>(hash % 997)); };
  std::atomic<std::uint64_t> newest{0};
  std::jthread worker([&](const std::stop_token& stop) {
    for (std::uint64_t hash = 1; !stop.stop_requested(); hash += AbsentReads::kReads) {
      const EpochScope inside(epochs_.reader(0));
      reads_.add(hash, read_at(hash), std::to_string(hash), Kind::told);
      newest = hash;
    }
  });
  std::uint64_t found = 0;
  while (found < 50) {
    const std::uint64_t hash = newest;
    reads_.committed({&hash, 1}, {.since = at(0), .by = read_at(hash)}, epochs_);
    do {
      reads_.look(epochs_);
    } while (!epochs_.passed(epochs_.advance()));
    const AbsentReads::Findings seen = reads_.findings();
    ASSERT_EQ(seen.before_commit, 0U);
    ASSERT_EQ(seen.lag_least, milliseconds(0));
    if (seen.hidden_by_lag > found) {
      found = seen.hidden_by_lag;
      ASSERT_EQ(seen.key, std::to_string(hash));
    }
  }
}

}  // namespace
}  // namespace cuckooguard::filter
