#include "guard/overlay.h"

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
constexpr milliseconds kTwoTicks{2 * 269};

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
      EXPECT_FALSE(overlay.holds(hash("42"), added + ttl + kTwoTicks));
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
  EXPECT_FALSE(overlay.holds(hash("short"), kStart + seconds(5) + kTwoTicks));
  EXPECT_TRUE(overlay.holds(hash("usual"), kStart + seconds(60)));
  EXPECT_FALSE(overlay.holds(hash("usual"), kStart + seconds(60) + kTwoTicks));
  EXPECT_TRUE(overlay.holds(hash("long"), kStart + hours(1)));
}

TEST(Overlay, what_took_others_in_ends_as_soon_as_they) {
  for (int phase = 0; phase < 300; ++phase) {
    Overlay overlay({.max_keys = 1, .ttl = seconds(60)});  // one set of eight
    const TimePoint added = kStart + milliseconds(phase);
    add_all(overlay, 0, 9, added);
    EXPECT_TRUE(overlay.holds(neighbour_of(hash(0)), added + seconds(60)));
    const TimePoint ended = added + seconds(60) + kTwoTicks;
    overlay.add(hash("newcomer"), ended);
    EXPECT_EQ(count_held(overlay, 0, 10, ended), 0);
  }
}

TEST(Overlay, holds_everything_for_as_long_as_it_is_told_to) {
  Overlay overlay({.max_keys = 1000, .ttl = seconds(60)});
  overlay.hold_all_until(kStart + seconds(60));
  overlay.hold_all_until(kStart + seconds(30));  // at least
  EXPECT_EQ(count_held(overlay, 0, 100, kStart), 100);
  EXPECT_EQ(count_held(overlay, 0, 100, kStart + seconds(60)), 100);
  EXPECT_EQ(count_held(overlay, 0, 100, kStart + seconds(60) + kTwoTicks), 0);
  overlay.hold_all_until(kStart + seconds(60));
  overlay.add(hash(1), kStart);
  overlay.hold_all_no_more();
  EXPECT_EQ(count_held(overlay, 0, 100, kStart), 1) << "what was added stays";
}

TEST(Overlay, adding_again_begins_the_time_again) {
  Overlay overlay({.max_keys = 1000, .ttl = seconds(60)});
  overlay.add(hash("42"), kStart);
  overlay.add(hash("42"), kStart + seconds(50));
  EXPECT_TRUE(overlay.holds(hash("42"), kStart + seconds(110)));
  EXPECT_FALSE(overlay.holds(hash("42"), kStart + seconds(110) + kTwoTicks));
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
  EXPECT_EQ(count_held(overlay, 0, 10'000, kStart), 10'000);
  EXPECT_LT(count_held(overlay, 10'000, 10'000, kStart), 150) << "2 % of what the summary holds";
}

TEST(Overlay, forgets_nothing_when_full) {
  Overlay overlay({.max_keys = 1000, .ttl = seconds(60)});
  add_all(overlay, 0, 10'000, kStart);
  EXPECT_EQ(count_held(overlay, 0, 10'000, kStart + seconds(60)), 10'000);
  EXPECT_GT(count_neighbours_held(overlay, 0, 10'000, kStart), 9900) << "for want of room";
  EXPECT_GT(overlay.overflows(), 0);
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

// Keys keep coming, but there is room again: what a set passed for want of room must end with what it stood for.
TEST(Overlay, stops_passing_everything_once_there_is_room) {
  Overlay overlay({.max_keys = 1000, .ttl = seconds(60)});
  add_all(overlay, 0, 10'000, kStart);
  for (int minute = 1; minute <= 3; ++minute) {
    const TimePoint now = kStart + seconds(61) * minute;
    add_all(overlay, minute * 20'000, 1000, now);
    EXPECT_EQ(count_held(overlay, minute * 20'000, 1000, now), 1000);
    EXPECT_LT(count_neighbours_held(overlay, minute * 20'000, 1000, now), 100) << minute;
  }
}

// A set half emptied has room: a wildcard that is still needed must not be prolonged by every newcomer.
TEST(Overlay, newcomers_take_free_room_and_leave_a_wildcard_to_expire) {
  Overlay overlay({.max_keys = 1, .ttl = seconds(60)});  // one set of eight
  add_all(overlay, 0, 8, kStart);
  overlay.add(hash(8), kStart + seconds(30));  // a wildcard until 90
  EXPECT_TRUE(overlay.holds(neighbour_of(hash(8)), kStart + seconds(89)));
  overlay.add(hash(9), kStart + seconds(70));  // seven have expired: room
  EXPECT_TRUE(overlay.holds(hash(9), kStart + seconds(130)));
  EXPECT_FALSE(overlay.holds(neighbour_of(hash(9)), kStart + seconds(91)));
}

// Were each newcomer to make a wildcard of its own, the set would soon hold nothing else, and have room much later.
TEST(Overlay, newcomers_without_room_share_one_wildcard) {
  Overlay overlay({.max_keys = 1, .ttl = seconds(60)});
  for (int i = 0; i < 8; ++i) {
    overlay.add(hash(i), kStart + seconds(i));
  }
  for (int i = 20; i < 28; ++i) {
    overlay.add(hash(i), kStart + seconds(i));
  }
  overlay.add(hash(70), kStart + seconds(70));
  EXPECT_TRUE(overlay.holds(hash(70), kStart + seconds(130)));
  EXPECT_FALSE(overlay.holds(neighbour_of(hash(70)), kStart + seconds(88)));
}

// Workers read the clock once per batch: one may be behind.
TEST(Overlay, an_addition_with_an_older_clock_shortens_nothing) {
  Overlay overlay({.max_keys = 1, .ttl = seconds(60)});
  add_all(overlay, 0, 8, kStart + seconds(10));
  overlay.add(hash(8), kStart);
  EXPECT_EQ(count_held(overlay, 0, 8, kStart + seconds(70)), 8);
}

TEST(Overlay, a_wildcard_stands_for_all_it_took_in_until_the_last_expires) {
  Overlay overlay({.max_keys = 1, .ttl = seconds(60)});
  add_all(overlay, 0, 8, kStart);
  for (int i = 8; i < 30; ++i) {
    const TimePoint now = kStart + seconds(i);
    overlay.add(hash(i), now);
    EXPECT_EQ(count_held(overlay, 0, i + 1, now), i + 1);
    EXPECT_TRUE(overlay.holds(hash(i), now + seconds(60)));
  }
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

  // In each round each thread adds its own to a set of eight that holds 0, 1 ... fill - 1: all must be held then.
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
TEST_F(OverlayRace, for_the_last_room) {
  race(7,
       {hash("a"), hash("b"), hash("c"), hash("d")},
       {hash("e"), hash("f"), hash("g"), hash("h")});
}
TEST_F(OverlayRace, between_renewing_an_entry_and_making_it_the_wildcard) {
  for (const int first_entry : {0, 7}) {
    race(8, {hash("a")}, Hashes(20, hash(first_entry)));
  }
}

TEST(Overlay, nothing_that_several_threads_added_is_lost) {
  Overlay overlay({.max_keys = 2000, .ttl = seconds(60)});
  {
    std::vector<std::jthread> threads;
    threads.reserve(4);
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&overlay, thread] { add_all(overlay, thread * 1000, 4000, kStart); });
    }
  }
  EXPECT_EQ(count_held(overlay, 0, 7000, kStart + seconds(60)), 7000);
}

}  // namespace
}  // namespace cuckooguard::guard
