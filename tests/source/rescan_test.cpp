#include <functional>
#include <new>
#include <optional>
#include <set>
#include <string>

#include "source/bench.h"
#include "source/source_kind.h"

namespace cuckooguard::source {
namespace {

using filter::State;
using Duration = Rescan::Duration;

// Rows that the test sets, a version per change, and room for things to happen in the middle of a
// load.
class Rows final : public Origin {
 public:
  Sighting look() override {
    ++looks;
    if (during_look) {
      during_look();
    }
    if (lost) {
      return {.kind = Sighting::Kind::lost, .version = 0, .why = "gone"};
    }
    return {.kind = unclear ? Sighting::Kind::unclear : Sighting::Kind::seen,
            .version = version,
            .why = unclear ? "locked" : ""};
  }

  Snapshot take(Feeds& feeds, const std::stop_token& /*stop*/) override {
    ++loads;
    if (lost) {
      return {.kind = Snapshot::Kind::lost, .version = 0, .why = "gone"};
    }
    if (unclear) {
      return {.kind = Snapshot::Kind::unclear, .version = 0, .why = "locked"};
    }
    const Version taken = version;
    for (Feed& feed : feeds) {
      load(feed);
    }
    if (during_load) {
      during_load();
    }
    return {.kind = Snapshot::Kind::taken, .version = taken, .why = ""};
  }

  void insert(const std::string& id) {
    ids.insert(id);
    ++version;
  }

  std::set<std::string> ids = {"1", "2"};
  Version version = 1;
  bool lost = false;
  bool unclear = false;
  int looks = 0;
  int loads = 0;
  std::function<void()> during_load;
  std::function<void()> during_look;

 private:
  void load(Feed& feed) const {
    feed.begin(ids.size());
    for (const std::string& id : ids) {
      const std::optional<std::string_view> value(id);
      if (feed.add(std::span(&value, 1)) == Feed::Intake::refused) {
        return;
      }
    }
    feed.complete();
  }
};

constexpr RescanTiming kTiming{.max_lag = seconds(1), .poll_every = milliseconds(10)};

struct Following {
  explicit Following(const std::vector<Wanted>& wanted = {Wanted{}},
                     std::unique_ptr<Rows> origin = std::make_unique<Rows>())
      : bench(wanted),
        rows(origin.get()),
        rescan(
            std::move(origin),
            bench.feeds(kTiming.max_lag),
            [this] {
              if (on_clock) {
                on_clock();
              }
              return bench.clock.now();
            },
            kTiming,
            Asking(&questions, milliseconds(1)),
            true) {}

  Duration step() { return rescan.step(bench.never); }
  // Steps, waiting as told, until it has looked and found nothing new; the time that took.
  Duration settle() {
    const TimePoint begin = bench.clock.now();
    for (int i = 0; i < 1000 && !bench.is_fresh(); ++i) {
      bench.clock.advance(step());
    }
    EXPECT_TRUE(bench.is_fresh());
    return bench.clock.now() - begin;
  }
  // A load takes this long from now on.
  void let_loads_take(Duration time) {
    rows->during_load = [this, time] { bench.clock.advance(time); };
  }

  Bench bench;
  int told = 0;  // of proofs
  filter::Questions questions{[this] { ++told; }};
  std::function<void()> on_clock;
  Rows* rows;
  Rescan rescan;
};

TEST(Rescan, nothing_is_fresh_before_a_look_has_shown_the_snapshot_to_be_current) {
  Following following;
  EXPECT_FALSE(following.bench.is_fresh());
  following.step();  // loads and publishes
  EXPECT_NE(following.bench.lives[0].current(), nullptr);
  EXPECT_FALSE(following.bench.is_fresh());
  following.step();
  EXPECT_TRUE(following.bench.is_fresh());
  EXPECT_EQ(following.bench.lives[0].state(), State::ready);
  EXPECT_TRUE(following.bench.has("user:1"));
}

TEST(Rescan, freshness_counts_from_before_the_look_not_from_after_it) {
  Following following;
  following.settle();
  following.bench.clock.advance(milliseconds(500));
  const TimePoint before = following.bench.clock.now();
  following.rows->during_look = [&] { following.bench.clock.advance(milliseconds(300)); };
  following.step();
  EXPECT_EQ(following.bench.lives[0].fresh_until(), before + kTiming.max_lag);
}

TEST(Rescan, a_reader_that_comes_while_the_time_of_a_look_is_read_has_another_look) {
  Following following;
  following.settle();
  EXPECT_TRUE(following.questions.serves_strict());
  following.questions.want();
  following.step();
  EXPECT_FALSE(following.questions.is_wanted());
  following.on_clock = [&] { following.questions.want(); };
  following.step();
  EXPECT_TRUE(following.questions.is_wanted());
}

TEST(Rescan, readers_are_told_of_looks_that_prove_and_wait_for_the_next_one_otherwise) {
  Following following;
  following.settle();
  EXPECT_EQ(following.told, 1);
  following.rows->unclear = true;
  following.step();
  EXPECT_FALSE(following.questions.is_wanted());
  following.questions.want();
  following.step();
  EXPECT_TRUE(following.questions.is_wanted());
  EXPECT_EQ(following.told, 1);
  following.rows->unclear = false;
  following.step();
  EXPECT_FALSE(following.questions.is_wanted());
  EXPECT_EQ(following.told, 2);
}

TEST(Rescan, readers_cut_no_pause_short_but_that_between_two_looks) {
  Following following;
  EXPECT_EQ(following.rescan.question_pace(), std::nullopt);
  following.settle();
  EXPECT_EQ(following.rescan.question_pace(), milliseconds(1));
  following.rows->insert("3");
  following.step();
  EXPECT_EQ(following.rescan.question_pace(), std::nullopt);
  following.settle();
  following.rows->lost = true;
  following.step();
  EXPECT_EQ(following.rescan.question_pace(), std::nullopt);
}

TEST(Rescan, a_change_ends_freshness_at_once_and_until_the_new_snapshot_is_proven) {
  Following following;
  following.settle();
  following.rows->insert("3");
  following.step();
  EXPECT_FALSE(following.bench.is_fresh());
  EXPECT_EQ(following.bench.lives[0].state(), State::loading);
  const int loads = following.rows->loads;
  while (following.rows->loads == loads) {
    EXPECT_FALSE(following.bench.is_fresh());
    following.bench.clock.advance(following.step());
  }
  EXPECT_FALSE(following.bench.is_fresh());
  following.step();
  EXPECT_TRUE(following.bench.is_fresh());
  EXPECT_TRUE(following.bench.has("user:3"));
}

TEST(Rescan, tells_when_it_was_proven_last_and_what_is_the_matter) {
  Following following;
  EXPECT_EQ(following.rescan.status().state, filter::SourceState::loading);
  following.settle();
  const TimePoint proven = following.bench.clock.now();
  following.bench.clock.advance(following.step());
  EXPECT_EQ(following.rescan.status().state, filter::SourceState::following);
  EXPECT_EQ(following.rescan.status().proven_at, proven);
  EXPECT_EQ(following.rescan.status().position, "");
  EXPECT_EQ(following.rescan.reached("0-1-75"), Reached::not_followed);
  following.rows->insert("3");
  following.step();
  EXPECT_EQ(following.rescan.status().state, filter::SourceState::loading);
  following.rows->lost = true;
  following.bench.clock.advance(seconds(1));
  following.step();
  EXPECT_EQ(following.rescan.status().state, filter::SourceState::down);
  EXPECT_EQ(following.rescan.status().why, "gone");
  EXPECT_EQ(following.rescan.status().losses, 1U);
}

TEST(Rescan, a_change_between_load_and_first_look_is_loaded_before_anything_is_fresh) {
  Following following;
  following.rows->during_load = [&] {
    following.rows->insert("3");
    following.rows->during_load = nullptr;
  };
  following.settle();
  EXPECT_EQ(following.rows->loads, 2);
  EXPECT_TRUE(following.bench.has("user:3"));
}

TEST(Rescan, freshness_runs_out_when_looks_are_unclear_and_it_says_so) {
  Following following;
  following.settle();
  following.rows->unclear = true;
  following.bench.clock.advance(milliseconds(900));
  following.step();
  EXPECT_TRUE(following.bench.is_fresh());
  EXPECT_EQ(following.bench.lives[0].state(), State::ready);
  following.bench.clock.advance(milliseconds(200));
  following.step();
  EXPECT_FALSE(following.bench.is_fresh());
  EXPECT_EQ(following.bench.lives[0].state(), State::lagging);
  EXPECT_EQ(following.bench.witness.last().why, "locked");
  following.rows->unclear = false;
  following.step();
  EXPECT_TRUE(following.bench.is_fresh());
  EXPECT_EQ(following.rows->loads, 1);  // nothing had changed
}

TEST(Rescan, a_lost_origin_passes_and_is_asked_again_with_growing_pauses) {
  Following following;
  following.settle();
  following.rows->lost = true;
  Duration pause = following.step();
  EXPECT_FALSE(following.bench.is_fresh());
  EXPECT_EQ(following.bench.lives[0].state(), State::down);
  EXPECT_LE(pause, Rescan::kBackoffMin);
  EXPECT_GE(pause, Rescan::kBackoffMin / 2);
  for (int i = 0; i < 20; ++i) {
    pause = following.step();
    EXPECT_LE(pause, Rescan::kBackoffMax);
  }
  EXPECT_GE(pause, Rescan::kBackoffMax / 2);
  following.rows->insert("3");
  following.rows->lost = false;
  following.settle();
  EXPECT_TRUE(following.bench.has("user:3"));
}

TEST(Rescan, an_origin_that_comes_back_unchanged_is_read_again_all_the_same) {
  Following following;
  following.settle();
  following.rows->lost = true;
  following.step();
  following.rows->lost = false;
  following.settle();
  EXPECT_EQ(following.rows->loads, 2);
}

TEST(Rescan, one_change_after_a_quiet_time_is_loaded_within_a_moment) {
  Following following;
  following.let_loads_take(milliseconds(200));
  following.settle();
  following.bench.clock.advance(seconds(10));
  following.step();
  following.rows->insert("3");
  // Quiet for an eighth of a load's time, then the load.
  EXPECT_LE(following.settle(), milliseconds(200) + milliseconds(200) / 8 + milliseconds(10));
}

TEST(Rescan, a_burst_is_loaded_once_when_it_is_over) {
  Following following;
  following.let_loads_take(milliseconds(200));
  following.settle();
  following.bench.clock.advance(seconds(10));
  const int loads = following.rows->loads;
  int inserted = 0;  // twenty, one every 5 ms
  TimePoint due = following.bench.clock.now();
  following.rows->during_look = [&] {
    for (; inserted < 20 && due <= following.bench.clock.now(); due += milliseconds(5)) {
      following.rows->insert(std::to_string(100 + inserted++));
    }
  };
  following.step();
  EXPECT_FALSE(following.bench.is_fresh());
  following.settle();
  EXPECT_EQ(inserted, 20);
  EXPECT_EQ(following.rows->loads, loads + 1);
  EXPECT_TRUE(following.bench.has("user:119"));
}

TEST(Rescan, an_origin_that_never_rests_is_loaded_ever_more_rarely) {
  Following following;
  following.settle();
  following.rows->during_load = [&] {
    following.bench.clock.advance(milliseconds(100));
    following.rows->insert(std::to_string(following.rows->loads + 100));
  };
  following.rows->insert("3");
  const int loads = following.rows->loads;
  const TimePoint end = following.bench.clock.now() + seconds(60);
  while (following.bench.clock.now() < end) {
    following.bench.clock.advance(following.step());
    EXPECT_FALSE(following.bench.is_fresh() && following.rows->loads > loads);
  }
  // 0.1 + 0.2 + 0.4 + … up to 30 s.
  EXPECT_GE(following.rows->loads - loads, 5);
  EXPECT_LE(following.rows->loads - loads, 12);
  EXPECT_EQ(following.bench.lives[0].state(), State::lagging);
  following.rows->during_load = nullptr;
  EXPECT_LE(following.settle(), Rescan::kPauseMax + milliseconds(200));
}

TEST(Rescan, an_origin_that_changes_often_is_loading_a_quarter_of_the_time_at_most) {
  Following following;
  Duration loading{0};
  following.rows->during_load = [&] {
    following.bench.clock.advance(milliseconds(100));
    loading += milliseconds(100);
  };
  following.settle();
  loading = Duration(0);
  const TimePoint begin = following.bench.clock.now();
  while (following.bench.clock.now() < begin + seconds(60)) {
    if (following.bench.is_fresh()) {
      following.rows->insert(std::to_string(following.rows->loads + 100));
    }
    following.bench.clock.advance(following.step());
  }
  EXPECT_LE(loading, seconds(60) / 4 + milliseconds(100));
  EXPECT_GE(loading, seconds(60) / 8);
}

TEST(Rescan, an_unsynced_namespace_passes_while_the_others_go_on) {
  Following following(
      {{.keys = {"user:{id}:{_}"}}, {.name = "others", .keys = {"other:{id:rest}"}}});
  following.rows->insert("a:b");  // a row whose keys may be read in several ways
  following.step();
  following.step();
  EXPECT_FALSE(following.bench.is_fresh(0));
  EXPECT_EQ(following.bench.lives[0].state(), State::unsynced);
  EXPECT_TRUE(following.bench.is_fresh(1));
  EXPECT_TRUE(following.bench.has("other:a:b"));

  following.rows->unclear = true;
  following.bench.clock.advance(seconds(5));
  following.step();
  EXPECT_EQ(following.bench.lives[0].state(), State::unsynced);  // what matters more
  EXPECT_EQ(following.bench.lives[1].state(), State::lagging);
  following.rows->unclear = false;

  following.rows->ids.erase("a:b");
  ++following.rows->version;
  following.settle();
  EXPECT_EQ(following.bench.lives[0].state(), State::ready);
}

TEST(Rescan, trouble_that_nobody_foresaw_passes_and_is_tried_again) {
  Following following;
  following.settle();
  following.rows->insert("3");
  following.rows->during_load = [] { throw std::bad_alloc(); };
  for (int i = 0; i < 20; ++i) {
    following.bench.clock.advance(following.step());
    EXPECT_FALSE(following.bench.is_fresh());
  }
  EXPECT_EQ(following.bench.lives[0].state(), State::down);
  following.rows->during_load = nullptr;
  following.settle();
  EXPECT_TRUE(following.bench.has("user:3"));
}

TEST(Rescan, the_end_makes_everything_pass) {
  Following following;
  following.settle();
  following.rescan.finish();
  EXPECT_FALSE(following.bench.is_fresh());
}

}  // namespace
}  // namespace cuckooguard::source
