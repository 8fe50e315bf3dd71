#include <cstdint>
#include <string>
#include <vector>

#include "source/bench.h"
#include "source/feeds.h"

namespace cuckooguard::source {
namespace {

using filter::State;
using Intake = Feed::Intake;

Intake add(Feed& feed, const std::string& value) {
  const std::optional<std::string_view> view(value);
  return feed.add(std::span(&view, 1));
}

// What a server says of the number of its rows may be anything.
TEST(Feed, rows_that_are_a_thousand_times_those_expected_are_read_twice_and_not_more) {
  Bench bench;
  Feed feed = std::move(bench.feeds().front());
  constexpr int kRows = 100'000;
  for (const Intake expected : {Intake::too_small, Intake::taken}) {
    ASSERT_EQ(feed.begin(100), Intake::taken);
    for (int id = 0; id < kRows; ++id) {
      ASSERT_EQ(add(feed, std::to_string(id)), Intake::taken) << id;
    }
    ASSERT_EQ(feed.complete(), expected);
  }
  for (int id = 0; id < kRows; ++id) {
    ASSERT_TRUE(bench.has("user:" + std::to_string(id))) << id;
  }
  EXPECT_FALSE(bench.lives[0].current()->stats().full);
}

TEST(Feed, rows_with_one_identity_take_the_room_of_one) {
  Bench bench;
  Feed feed = std::move(bench.feeds().front());
  ASSERT_EQ(feed.begin(100), Intake::taken);
  for (int i = 0; i < 100'000; ++i) {
    ASSERT_EQ(add(feed, "7"), Intake::taken);
  }
  ASSERT_EQ(feed.complete(), Intake::taken);
  EXPECT_EQ(bench.lives[0].current()->stats().fingerprints, 1U);
}

TEST(Feed, a_row_without_a_key_is_left_out) {
  Bench bench;
  Feed feed = std::move(bench.feeds().front());
  ASSERT_EQ(feed.begin(2), Intake::taken);
  const std::optional<std::string_view> null;
  EXPECT_EQ(feed.add(std::span(&null, 1)), Intake::taken);
  EXPECT_EQ(add(feed, "8"), Intake::taken);
  ASSERT_EQ(feed.complete(), Intake::taken);
  EXPECT_EQ(bench.lives[0].current()->stats().items, 1U);
}

TEST(Feed, nothing_is_proven_for_a_load_that_was_not_completed) {
  Bench bench({{.keys = {"user:{id}:{_}"}}});
  Feed feed = std::move(bench.feeds().front());
  feed.prove(bench.clock.now());
  EXPECT_FALSE(bench.is_fresh());
  feed.begin(1);
  ASSERT_EQ(feed.complete(), Intake::taken);
  feed.prove(bench.clock.now());
  EXPECT_TRUE(bench.is_fresh());
  feed.expire();
  EXPECT_FALSE(bench.is_fresh());
  feed.begin(1);
  feed.prove(bench.clock.now());
  EXPECT_FALSE(bench.is_fresh());
  ASSERT_EQ(add(feed, "s:n"), Intake::refused);
  feed.prove(bench.clock.now());
  EXPECT_FALSE(bench.is_fresh());
  EXPECT_EQ(bench.lives[0].state(), State::unsynced);
}

TEST(Feed, a_refused_namespace_is_not_proven_by_its_former_filter) {
  Bench bench;
  Feed feed = std::move(bench.feeds().front());
  feed.begin(1);
  ASSERT_EQ(feed.complete(), Intake::taken);
  feed.prove(bench.clock.now());
  feed.expire();
  feed.refuse(State::refused, "the table is gone");  // before a filter was begun
  feed.prove(bench.clock.now());
  EXPECT_FALSE(bench.is_fresh());
  feed.report_unless_refused(State::down, "");
  EXPECT_EQ(bench.lives[0].state(), State::refused);  // what matters more
  feed.report_mended();
  EXPECT_EQ(bench.lives[0].state(), State::loading);
  feed.prove(bench.clock.now());
  EXPECT_FALSE(bench.is_fresh());
}

// Of rows, of a server that has given ids before, and of a log meanwhile.
TEST(Feed, the_largest_id_of_all_that_is_known_counts_when_a_load_is_published) {
  struct Known {
    std::uint64_t row, given, logged;
  };
  for (const Known& known : {Known{9'000, 0, 0}, Known{1, 9'000, 0}, Known{1, 1, 9'000}}) {
    Bench bench;
    Feed feed = std::move(bench.feeds().front());
    ASSERT_EQ(feed.begin(1), Intake::taken);
    feed.ids_grow(known.given);
    feed.begin_to_collect(false);
    const std::string logged = std::to_string(known.logged);
    ASSERT_TRUE(feed.hash_of(std::vector<std::optional<std::string_view>>{logged}));
    ASSERT_EQ(add(feed, std::to_string(known.row)), Intake::taken);
    ASSERT_EQ(feed.complete(), Intake::taken);
    EXPECT_EQ(feed.largest_id(), 9'000U);
    EXPECT_TRUE(bench.lives[0].is_fresh_id(9'001));
    EXPECT_FALSE(bench.lives[0].is_fresh_id(8'999));
  }
}

TEST(Feed, a_configured_capacity_is_the_least_there_is_room_for) {
  Bench bench;
  bench.namespaces[0].filter.capacity = 1'000'000;
  Feed feed = std::move(bench.feeds().front());
  feed.begin(10);
  feed.complete();
  EXPECT_GE(bench.lives[0].current()->sizing().capacity(), 1'000'000U);
}

TEST(Feed, progress_comes_ten_times_a_second_and_at_the_end) {
  Bench bench;
  Feed feed = std::move(bench.feeds().front());
  constexpr std::uint64_t kRows = 200'000;
  feed.begin(kRows);
  for (std::uint64_t id = 0; id < kRows; ++id) {
    bench.clock.advance(std::chrono::microseconds(5));  // one second in all
    add(feed, std::to_string(id));
  }
  feed.complete();
  const auto progress = bench.witness.progress();
  ASSERT_GE(progress.size(), 8U);
  EXPECT_LE(progress.size(), 11U);
  const Progress& middle = progress[4];
  EXPECT_EQ(middle.ns, "users");
  EXPECT_FALSE(middle.complete);
  EXPECT_NEAR(middle.rows_per_second, 200'000, 2'000);
  EXPECT_EQ(middle.rows_expected, kRows);
  EXPECT_NEAR(middle.fraction, static_cast<double>(middle.rows) / kRows, 1e-9);
  const std::chrono::duration<double> whole =
      middle.elapsed + middle.remaining.value_or(nanoseconds(0));
  EXPECT_NEAR(whole.count(), 1.0, 0.02);
  EXPECT_TRUE(progress.back().complete);
  EXPECT_EQ(progress.back().rows, kRows);
}

TEST(Feed, a_state_is_reported_when_it_or_its_reason_changes) {
  Bench bench;
  Feed feed = std::move(bench.feeds().front());
  feed.report(State::down, "a");
  feed.report(State::down, "a");
  feed.report(State::down, "b");
  feed.report(State::loading, "b");
  EXPECT_EQ(bench.witness.reports().size(), 3U);
  EXPECT_EQ(bench.lives[0].state(), State::loading);
}

}  // namespace
}  // namespace cuckooguard::source
