#include "filter/live_filter.h"

#include <array>
#include <chrono>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "filter/hashes.h"

namespace cuckooguard::filter {
namespace {

using std::chrono::seconds;
using testing::fixed_secret;
using testing::nth_hash;

const HashSecret kSecret = fixed_secret(1);

std::unique_ptr<CuckooFilter> small_filter(const HashSecret& secret = kSecret) {
  return std::make_unique<CuckooFilter>(sizing_for(Layout::w20, 1000, DeleteMode::trusted), secret);
}

TEST(LiveFilter, shows_nothing_and_is_not_fresh_before_the_first_publish) {
  Epochs epochs(1);
  LiveFilter live(epochs);
  EXPECT_EQ(live.current(), nullptr);
  EXPECT_EQ(live.state(), State::loading);
  EXPECT_FALSE(live.is_fresh(TimePoint{}));
  EXPECT_FALSE(live.is_fresh(TimePoint::min()));
  EXPECT_EQ(live.insert(1), InsertOutcome::full) << "an event must not vanish silently";
  EXPECT_EQ(live.erase(1), EraseOutcome::not_found);
}

TEST(LiveFilter, is_fresh_strictly_before_the_proven_time) {
  Epochs epochs(1);
  LiveFilter live(epochs);
  live.set_fresh_until(TimePoint{seconds(10)});
  EXPECT_TRUE(live.is_fresh(TimePoint{seconds(9)}));
  EXPECT_FALSE(live.is_fresh(TimePoint{seconds(10)}));
  live.set_fresh_until(TimePoint::min());
  EXPECT_FALSE(live.is_fresh(TimePoint{seconds(1)}));
  EXPECT_EQ(live.fresh_until(), TimePoint::min());
}

TEST(LiveFilter, ids_just_above_the_largest_are_fresh) {
  Epochs epochs(1);
  LiveFilter live(epochs);
  EXPECT_FALSE(live.is_fresh_id(1)) << "off until a window is set";
  live.set_growth(100, 16);
  EXPECT_FALSE(live.is_fresh_id(100));
  EXPECT_TRUE(live.is_fresh_id(101));
  EXPECT_TRUE(live.is_fresh_id(116));
  EXPECT_FALSE(live.is_fresh_id(117));
  EXPECT_FALSE(live.is_fresh_id(0));
  live.set_growth(std::numeric_limits<std::uint64_t>::max() - 1, 16);
  EXPECT_TRUE(live.is_fresh_id(std::numeric_limits<std::uint64_t>::max()));
  EXPECT_FALSE(live.is_fresh_id(3)) << "the window does not wrap around";
}

TEST(LiveFilter, a_replaced_filter_gets_events_until_its_reader_has_left) {
  Epochs epochs(2);
  LiveFilter live(epochs);
  live.publish(small_filter());
  live.insert(nth_hash(1, 0));

  epochs.reader(0).enter();
  const CuckooFilter* const old = live.current();
  auto next = small_filter();
  next->insert(nth_hash(1, 0));
  live.publish(std::move(next));
  EXPECT_NE(live.current(), old);

  live.insert(nth_hash(1, 1));
  EXPECT_TRUE(old->may_contain(nth_hash(1, 1)));
  EXPECT_TRUE(live.current()->may_contain(nth_hash(1, 1)));
  live.erase(nth_hash(1, 0));
  EXPECT_FALSE(old->may_contain(nth_hash(1, 0)));
  EXPECT_FALSE(live.current()->may_contain(nth_hash(1, 0)));

  EXPECT_FALSE(live.reclaim());
  epochs.reader(0).leave();
  EXPECT_TRUE(live.reclaim());
}

TEST(LiveFilter, many_rows_at_once_reach_a_replaced_filter_too) {
  const std::vector<std::uint64_t> hashes{nth_hash(1, 0), nth_hash(1, 1), nth_hash(1, 2)};
  Epochs epochs(1);
  LiveFilter live(epochs);
  EXPECT_EQ(live.insert(hashes), InsertOutcome::full) << "there is no filter yet";
  live.publish(small_filter());
  epochs.reader(0).enter();
  const CuckooFilter* const old = live.current();
  live.publish(small_filter());
  EXPECT_EQ(live.insert(hashes), InsertOutcome::inserted);
  for (const std::uint64_t hash : hashes) {
    EXPECT_TRUE(old->may_contain(hash));
    EXPECT_TRUE(live.current()->may_contain(hash));
  }
  epochs.reader(0).leave();
}

TEST(LiveFilter, a_filter_replaced_under_another_secret_passes_everything) {
  Epochs epochs(1);
  LiveFilter live(epochs);
  live.publish(small_filter());
  epochs.reader(0).enter();
  const CuckooFilter* const old = live.current();
  EXPECT_FALSE(old->may_contain(nth_hash(1, 9)));
  live.publish(small_filter(fixed_secret(2)));
  EXPECT_TRUE(old->may_contain(nth_hash(1, 9)));
  EXPECT_FALSE(live.current()->may_contain(nth_hash(1, 9)));
  epochs.reader(0).leave();
}

TEST(LiveFilter, publishing_nothing_withdraws_the_filter) {
  Epochs epochs(1);
  LiveFilter live(epochs);
  live.publish(small_filter());
  live.publish(nullptr);
  EXPECT_EQ(live.current(), nullptr);
}

TEST(LiveFilter, every_state_has_its_word) {
  EXPECT_STREQ(state_name(State::loading), "loading");
  EXPECT_STREQ(state_name(State::ready), "ready");
  EXPECT_STREQ(state_name(State::lagging), "lagging");
  EXPECT_STREQ(state_name(State::unsynced), "unsynced");
  EXPECT_STREQ(state_name(State::down), "down");
  EXPECT_STREQ(state_name(State::full), "full");
  EXPECT_STREQ(state_name(State::refused), "refused");
  EXPECT_EQ(kLastState, State::refused);
}

// Run with the address and thread sanitizers: a filter freed too early is read after it is gone.
TEST(LiveFilter, readers_find_every_row_while_filters_are_published_and_freed) {
  constexpr std::size_t kReaders = 2;
  constexpr std::uint64_t kRows = 500;
  Epochs epochs(kReaders);
  LiveFilter live(epochs);
  const std::vector<std::uint64_t> rows = testing::hashes(6, kRows);
  const auto loaded = [&rows] {
    auto filter = small_filter();
    filter->insert(rows);
    return filter;
  };
  live.publish(loaded());

  std::atomic<bool> stop{false};
  std::array<std::uint64_t, kReaders> hidden{};
  std::vector<std::thread> readers;
  readers.reserve(kReaders);
  for (std::size_t i = 0; i < kReaders; ++i) {
    readers.emplace_back([&, i] {
      for (std::uint64_t round = 0; !stop.load(std::memory_order_relaxed); ++round) {
        const EpochScope inside(epochs.reader(i));
        hidden[i] += live.current()->may_contain(rows[round % kRows]) ? 0 : 1;
      }
    });
  }
  for (std::uint64_t round = 0; round < 300; ++round) {
    live.publish(loaded());
    for (std::uint64_t event = 0; event < 20; ++event) {
      live.insert(nth_hash(60 + round, event));
      live.erase(nth_hash(60 + round, event));
    }
  }
  stop = true;
  for (std::thread& reader : readers) {
    reader.join();
  }
  EXPECT_EQ(hidden[0] + hidden[1], 0);
  EXPECT_TRUE(live.reclaim());
}

}  // namespace
}  // namespace cuckooguard::filter
