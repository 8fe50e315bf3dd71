#include "guard/overlay.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "guard/guarded_shop.h"

namespace cuckooguard::guard {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

constexpr TimePoint kStart{hours(1000)};
constexpr milliseconds kThreeTicks{3 * 269};

std::uint64_t hash(std::string_view identity) {
  static const filter::KeyHash kHash(fixed_secret(1));
  return kHash(identity);
}

std::uint64_t hash(int number) {
  return hash("id" + std::to_string(number));
}

// Another of the same set, and of the same cell of the summary.
std::uint64_t neighbour_of(std::uint64_t hash) {
  return hash ^ 1U;
}

int count_held(const Overlay& overlay, int first, int count, TimePoint now) {
  int held = 0;
  for (int i = first; i < first + count; ++i) {
    held += overlay.holds(hash(i), now) ? 1 : 0;
  }
  return held;
}

int count_neighbours_held(const Overlay& overlay, int first, int count, TimePoint now) {
  int held = 0;
  for (int i = first; i < first + count; ++i) {
    held += overlay.holds(neighbour_of(hash(i)), now) ? 1 : 0;
  }
  return held;
}

void add_all(Overlay& overlay, int first, int count, TimePoint now) {
  for (int i = first; i < first + count; ++i) {
    overlay.add(hash(i), now);
  }
}

TEST(Overlay, holds_what_was_added_and_nothing_else) {
  Overlay overlay({.max_keys = 1000, .ttl = seconds(60)});
  EXPECT_FALSE(overlay.holds(hash("42"), kStart));
  overlay.add(hash("42"), kStart);
  overlay.add(hash(""), kStart);
  EXPECT_TRUE(overlay.holds(hash("42"), kStart));
  EXPECT_TRUE(overlay.holds(hash(""), kStart));
  EXPECT_FALSE(overlay.holds(hash("4"), kStart));
  EXPECT_FALSE(overlay.holds(hash("43"), kStart));
}

// Whatever the phase of the ticks.
TEST(Overlay, holds_for_as_long_as_asked_and_hardly_longer) {
  for (const auto& ttl :
       {milliseconds(0), milliseconds(1), milliseconds(900), milliseconds(60'000)}) {
    for (int phase = 0; phase < 300; ++phase) {
      Overlay overlay({.max_keys = 8, .ttl = ttl});
      const TimePoint added = kStart + milliseconds(phase);
      overlay.add(hash("42"), added);
      EXPECT_TRUE(overlay.holds(hash("42"), added + ttl));
      EXPECT_FALSE(overlay.holds(hash("42"), added + ttl + kThreeTicks));
    }
  }
}

TEST(Overlay, an_addition_with_a_time_of_its_own_is_held_for_that_and_shortens_nothing) {
  Overlay overlay({.max_keys = 8, .ttl = seconds(60)});
  overlay.add(hash("short"), kStart, seconds(5));
  overlay.add(hash("long"), kStart, hours(1));
  overlay.add(hash("usual"), kStart);
  overlay.add(hash("usual"), kStart, seconds(5));
  EXPECT_TRUE(overlay.holds(hash("short"), kStart + seconds(5)));
  EXPECT_FALSE(overlay.holds(hash("short"), kStart + seconds(5) + kThreeTicks));
  EXPECT_TRUE(overlay.holds(hash("usual"), kStart + seconds(60)));
  EXPECT_FALSE(overlay.holds(hash("usual"), kStart + seconds(60) + kThreeTicks));
  EXPECT_TRUE(overlay.holds(hash("long"), kStart + hours(1)));
}

TEST(Overlay, holds_everything_for_as_long_as_it_is_told_to) {
  Overlay overlay({.max_keys = 1000, .ttl = seconds(60)});
  overlay.hold_all_until(kStart + seconds(60));
  overlay.hold_all_until(kStart + seconds(30));  // at least
  EXPECT_EQ(count_held(overlay, 0, 100, kStart), 100);
  EXPECT_GE(overlay.holds_all(kStart).value().until, kStart + seconds(60));
  EXPECT_FALSE(overlay.holds_all(kStart + seconds(60) + kThreeTicks));
  EXPECT_EQ(count_held(overlay, 0, 100, kStart + seconds(60)), 100);
  EXPECT_EQ(count_held(overlay, 0, 100, kStart + seconds(60) + kThreeTicks), 0);
  overlay.hold_all_until(kStart + seconds(60));
  overlay.add(hash(1), kStart);
  overlay.hold_all_no_more();
  EXPECT_EQ(count_held(overlay, 0, 100, kStart), 1) << "what was added stays";
  EXPECT_FALSE(overlay.holds_all(kStart));
}

TEST(Overlay, knows_why_it_holds_a_key) {
  for (int phase = 0; phase < 300; phase += 30) {  // of the ticks
    Overlay overlay({.max_keys = 8, .ttl = seconds(60)});
    const TimePoint now = kStart + milliseconds(phase);
    EXPECT_EQ(overlay.why_held(hash("42"), now), Held::no);
    overlay.add(hash("42"), now);
    overlay.add(hash("43"), now, seconds(60), Overlay::Origin::added);
    EXPECT_EQ(overlay.why_held(hash("42"), now + seconds(60)), Held::written);
    EXPECT_EQ(overlay.why_held(hash("43"), now + seconds(60)), Held::added);
    EXPECT_EQ(overlay.why_held(hash("43"), now + seconds(60) + kThreeTicks), Held::no);
    overlay.hold_all_until(now + hours(1));
    EXPECT_EQ(overlay.why_held(hash("42"), now), Held::written);
    EXPECT_EQ(overlay.why_held(hash("42"), now + seconds(70)), Held::all);
  }
}

TEST(Overlay, what_is_added_after_it_was_cleared_is_held_while_others_add_and_clear) {
  Overlay overlay({.max_keys = 100, .ttl = seconds(60)});
  const std::jthread others([&overlay](const std::stop_token& stop) {
    for (int i = 0; !stop.stop_requested(); ++i) {
      overlay.add(hash(i % 50), kStart);
    }
  });
  for (int round = 0; round < 2000; ++round) {
    overlay.clear();
    overlay.add(hash(1000 + round), kStart);
    ASSERT_TRUE(overlay.holds(hash(1000 + round), kStart)) << round;
  }
}

TEST(Overlay, adding_again_begins_the_time_again) {
  Overlay overlay({.max_keys = 1000, .ttl = seconds(60)});
  overlay.add(hash("42"), kStart);
  overlay.add(hash("42"), kStart + seconds(50));
  EXPECT_TRUE(overlay.holds(hash("42"), kStart + seconds(110)));
  EXPECT_FALSE(overlay.holds(hash("42"), kStart + seconds(110) + kThreeTicks));
}

TEST(Overlay, a_neighbour_with_less_time_takes_nothing_away) {
  Overlay overlay({.max_keys = 1000, .ttl = seconds(60)});
  overlay.add(hash("42"), kStart, hours(1));
  overlay.add(neighbour_of(hash("42")), kStart, seconds(5));
  EXPECT_TRUE(overlay.holds(hash("42"), kStart + hours(1)));
  EXPECT_FALSE(overlay.holds(neighbour_of(hash("42")), kStart + hours(1)));
}

TEST(Overlay, time_before_an_addition_takes_nothing_away) {
  Overlay overlay({.max_keys = 1000, .ttl = seconds(60)});
  overlay.add(hash("42"), kStart + seconds(10));
  overlay.add(hash("42"), kStart);
  EXPECT_TRUE(overlay.holds(hash("42"), kStart + seconds(70)));
}

TEST(Overlay, has_room_for_max_keys) {
  Overlay overlay({.max_keys = 10'000, .ttl = seconds(60)});
  add_all(overlay, 0, 10'000, kStart);
  EXPECT_GT(count_held(overlay, 0, 10'000, kStart), 9800) << "2 % of the sets have more than eight";
}

// Whoever fills it, what others read is answered all the same.
TEST(Overlay, passes_nothing_that_was_not_added_however_full) {
  Overlay overlay({.max_keys = 1000, .ttl = seconds(60)});
  add_all(overlay, 0, 100'000, kStart);
  EXPECT_EQ(count_neighbours_held(overlay, 0, 100'000, kStart), 0);
  EXPECT_EQ(count_held(overlay, 100'000, 10'000, kStart), 0);
  EXPECT_GT(overlay.overflows(), 97'000);
}

TEST(Overlay, without_room_what_expires_first_goes_first) {
  Overlay overlay({.max_keys = 1, .ttl = seconds(60)});  // one set of eight
  for (int i = 0; i < 30; ++i) {
    const TimePoint now = kStart + seconds(i);
    overlay.add(hash(i), now);
    EXPECT_EQ(count_held(overlay, 0, i + 1, now), std::min(i + 1, 8));
    EXPECT_EQ(count_held(overlay, std::max(0, i - 7), 8, now), std::min(i + 1, 8))
        << "the last ones";
  }
  EXPECT_EQ(overlay.overflows(), 22);
}

TEST(Overlay, forgets_what_is_removed_and_no_more) {
  Overlay overlay({.max_keys = 1000, .ttl = seconds(60)});
  overlay.add(neighbour_of(hash("42")), kStart);
  const Overlay::Tick until = overlay.add(hash("42"), kStart);
  EXPECT_EQ(overlay.add(hash("42"), kStart), 0) << "it is there";
  overlay.remove(hash("42"), until + 1);
  EXPECT_TRUE(overlay.holds(hash("42"), kStart));
  overlay.remove(hash("42"), until);
  EXPECT_FALSE(overlay.holds(hash("42"), kStart));
  EXPECT_TRUE(overlay.holds(neighbour_of(hash("42")), kStart));
  EXPECT_NE(overlay.add(hash("42"), kStart), 0);
}

TEST(Overlay, what_was_prolonged_is_not_removed) {
  Overlay overlay({.max_keys = 1000, .ttl = seconds(60)});
  const Overlay::Tick until = overlay.add(hash("42"), kStart);
  EXPECT_GT(overlay.add(hash("42"), kStart + seconds(1)), until);
  overlay.remove(hash("42"), until);
  EXPECT_TRUE(overlay.holds(hash("42"), kStart + seconds(61)));
}

TEST(Overlay, what_is_cleared_is_gone_and_what_comes_then_is_held) {
  for (const std::uint64_t max_keys : {1U, 1000U, 1'000'000U}) {
    Overlay overlay({.max_keys = max_keys, .ttl = seconds(60)});
    overlay.clear();
    add_all(overlay, 0, 10'000, kStart);
    overlay.clear();
    EXPECT_EQ(count_held(overlay, 0, 10'000, kStart), 0);
    add_all(overlay, 0, 10, kStart);
    EXPECT_EQ(count_held(overlay, 0, 20, kStart), std::min<int>(10, max_keys == 1 ? 8 : 10));
  }
}

TEST(Overlay, clearing_does_not_end_what_it_was_told_to_hold) {
  Overlay overlay({.max_keys = 1000, .ttl = seconds(60)});
  overlay.hold_all_until(kStart + seconds(60));
  overlay.clear();
  EXPECT_EQ(count_held(overlay, 0, 100, kStart), 100);
}

TEST(Overlay, is_empty_again_when_all_has_expired) {
  Overlay overlay({.max_keys = 1000, .ttl = seconds(60)});
  add_all(overlay, 0, 10'000, kStart);
  const TimePoint later = kStart + seconds(61);
  EXPECT_EQ(count_held(overlay, 0, 20'000, later), 0);
  overlay.add(hash("42"), later);
  EXPECT_TRUE(overlay.holds(hash("42"), later));
  EXPECT_EQ(count_held(overlay, 0, 20'000, later), 0);
}

TEST(Overlay, without_room_for_a_single_key_it_cannot_be) {
  EXPECT_THROW(Overlay({.max_keys = 0, .ttl = seconds(60)}), std::invalid_argument);
}

TEST(Overlay, the_end_of_the_ticks_is_for_good_and_not_never) {
  Overlay overlay({.max_keys = 10, .ttl = seconds(60)});
  const TimePoint end{hours(24 * 366 * 50)};
  overlay.add(hash("42"), end);
  EXPECT_TRUE(overlay.holds(hash("42"), end));
  EXPECT_TRUE(overlay.holds(hash("42"), end + hours(1)));
  EXPECT_FALSE(overlay.holds(hash("43"), end));
}

// Two threads that want the same words at the same moment, round after round. Run it under tsan.
class OverlayRace : public testing::Test {
 protected:
  static constexpr int kRounds = 3000;
  static constexpr int kSpins = 1000;
  static constexpr TimePoint kLater = kStart + seconds(30);
  using Hashes = std::vector<std::uint64_t>;

  static void wait_for_the_other(std::atomic<int>& arrivals, int round) {
    arrivals.fetch_add(1);
    for (int spins = 0; arrivals.load() < 2 * (round + 1); ++spins) {
      if (spins > kSpins) {
        std::this_thread::yield();
      }
    }
  }

  // In each round each thread adds its own to a set of eight that holds 0, 1 ... fill - 1: all must
  // be held then.
  static void race(int fill, const Hashes& ours, const Hashes& theirs) {
    std::vector<std::unique_ptr<Overlay>> overlays;
    overlays.reserve(kRounds);
    for (int round = 0; round < kRounds; ++round) {
      overlays.push_back(
          std::make_unique<Overlay>(Overlay::Limits{.max_keys = 1, .ttl = seconds(60)}));
      add_all(*overlays.back(), 0, fill, kStart);
    }
    std::atomic<int> arrivals{0};
    const auto run = [&](const Hashes& hashes) {
      for (int round = 0; round < kRounds; ++round) {
        wait_for_the_other(arrivals, round);
        TimePoint now = kLater;
        for (const std::uint64_t added : hashes) {
          overlays[static_cast<std::size_t>(round)]->add(added, now);
          now += seconds(1);
        }
      }
    };
    {
      const std::jthread thread(run, theirs);
      run(ours);
    }
    int lost = 0;
    for (const auto& overlay : overlays) {
      for (const Hashes& hashes : {ours, theirs}) {
        for (const std::uint64_t added : hashes) {
          lost += overlay->holds(added, kLater + seconds(60)) ? 0 : 1;
        }
      }
    }
    EXPECT_EQ(lost, 0);
  }
};

TEST_F(OverlayRace, for_the_same_room) {
  race(0,
       {hash("a"), hash("b"), hash("c"), hash("d")},
       {hash("e"), hash("f"), hash("g"), hash("h")});
}
TEST_F(OverlayRace, for_room_that_others_must_leave) {
  race(8,
       {hash("a"), hash("b"), hash("c"), hash("d")},
       {hash("e"), hash("f"), hash("g"), hash("h")});
}
TEST_F(OverlayRace, between_renewing_an_entry_and_dropping_it) {
  race(8, {hash("a")}, Hashes(20, hash(0)));
}

TEST(Overlay, nothing_that_several_threads_added_is_lost) {
  Overlay overlay({.max_keys = 100'000, .ttl = seconds(60)});
  {
    std::vector<std::jthread> threads;
    threads.reserve(4);
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&overlay, thread] { add_all(overlay, thread * 1000, 4000, kStart); });
    }
  }
  EXPECT_EQ(count_held(overlay, 0, 7000, kStart + seconds(60)), 7000);
}

TEST(Overlay, what_is_saved_is_held_by_the_next_for_as_long_as_it_would_have_been) {
  for (const std::uint64_t max_keys : {10ULL, 1000ULL, 3'000'000ULL}) {
    const Overlay::Limits limits{.max_keys = max_keys, .ttl = std::chrono::seconds(60)};
    Overlay before(limits);
    const int keys = max_keys == 10 ? 8 : 500;
    add_all(before, 0, keys, kStart);
    const std::string saved = before.saved(kStart + std::chrono::seconds(10));
    Overlay after(limits);
    // Another boot: its clock says something else.
    const TimePoint now{hours(2)};
    ASSERT_TRUE(after.restore(saved, now, std::chrono::seconds(20)));
    EXPECT_EQ(count_held(after, 0, keys, now), keys) << max_keys;
    EXPECT_EQ(count_held(after, 0, keys, now + std::chrono::seconds(29)), keys) << max_keys;
    EXPECT_EQ(count_held(after, 0, keys, now + std::chrono::seconds(30) + kThreeTicks), 0);
    EXPECT_LT(count_held(after, 10'000, 1000, now), 3) << max_keys;
    EXPECT_EQ(after.why_held(hash(0), now), Held::written);
  }
}

TEST(Overlay, what_had_expired_is_not_saved_and_what_expires_meanwhile_is_not_restored) {
  const Overlay::Limits limits{.max_keys = 1000, .ttl = std::chrono::seconds(60)};
  Overlay before(limits);
  before.add(hash(1), kStart, std::chrono::seconds(5), Overlay::Origin::added);
  before.add(hash(2), kStart);
  const TimePoint later = kStart + std::chrono::seconds(10);
  Overlay after(limits);
  ASSERT_TRUE(after.restore(before.saved(later), later, std::chrono::seconds(0)));
  EXPECT_FALSE(after.holds(hash(1), later));
  EXPECT_TRUE(after.holds(hash(2), later));
  Overlay much_later(limits);
  ASSERT_TRUE(much_later.restore(before.saved(later), later, hours(1)));
  EXPECT_FALSE(much_later.holds(hash(2), later));
}

TEST(Overlay, what_is_saved_of_another_size_or_is_no_overlay_changes_nothing) {
  Overlay before({.max_keys = 1000, .ttl = std::chrono::seconds(60)});
  before.add(hash(1), kStart);
  const std::string saved = before.saved(kStart);
  Overlay larger({.max_keys = 2000, .ttl = std::chrono::seconds(60)});
  EXPECT_FALSE(larger.restore(saved, kStart, std::chrono::seconds(0)));
  Overlay same({.max_keys = 1000, .ttl = std::chrono::seconds(60)});
  EXPECT_FALSE(same.restore(saved.substr(0, saved.size() - 1), kStart, std::chrono::seconds(0)));
  EXPECT_FALSE(same.restore("", kStart, std::chrono::seconds(0)));
  EXPECT_FALSE(same.holds(hash(1), kStart));
}

}  // namespace
}  // namespace cuckooguard::guard
