#include "bloom/follower.h"

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/formats.h"
#include "harness/bloom_positions.h"
#include "source/bench.h"

namespace cuckooguard::source {
namespace {

using namespace std::chrono_literals;
using filter::Finding;
using filter::State;
using ::testing::HasSubstr;

constexpr std::uint64_t kBits = 100'000;

std::shared_ptr<const foreign::Filter> filter_of(int items, const std::string& prefix = "") {
  std::string bitmap;
  for (int id = 0; id < items; ++id) {
    bitmap = harness::with_bits(std::move(bitmap),
                                harness::go_zero_positions(prefix + std::to_string(id), kBits));
  }
  return foreign::read_go_zero(std::move(bitmap), kBits).value();
}

// What a test says of where the filter is.
class Scripted final : public BloomOrigin {
 public:
  struct Script {
    BloomLook look{.kind = BloomLook::Kind::unchanged};
    BloomReading reading;
    std::function<void()> while_read = [] {};
    bool gains = true;
    int readings = 0;
  };
  explicit Scripted(Script& script) : script_(script) {}

  BloomLook look() override { return script_.look; }
  BloomReading read(const std::stop_token& /*stop*/) override {
    ++script_.readings;
    script_.while_read();
    return script_.reading;
  }
  bool only_gains_bits() const override { return script_.gains; }

 private:
  Script& script_;
};

struct Followed {
  Followed()
      : bench({Wanted{}, Wanted{.name = "carts", .keys = {"cart:{id:uint64}"}}}),
        follower(
            std::make_unique<Scripted>(script),
            bench.feeds(1s),
            [this] {
              if (on_clock) {
                on_clock();
              }
              return bench.clock.now();
            },
            {.max_lag = 1s, .reload = 250ms},
            Asking(&questions, 10ms)) {
    give(filter_of(100));
  }

  void give(std::shared_ptr<const foreign::Filter> filter) {
    script.reading = {.kind = BloomReading::Kind::taken, .filter = std::move(filter)};
  }
  nanoseconds step() { return follower.step({}); }
  void changed() { script.look.kind = BloomLook::Kind::changed; }
  Finding find(const std::string& id, std::size_t ns = 0) {
    const filter::EpochScope inside(bench.epochs.reader(0));
    return bench.parts[ns].find(id, bench.clock.now());
  }
  std::string why() const { return bench.witness.last().why; }
  State state() const { return bench.witness.last().state; }

  Scripted::Script script;
  Bench bench;
  int told = 0;  // of proofs
  filter::Questions questions{[this] { ++told; }};
  std::function<void()> on_clock;
  BloomFollower follower;
};

TEST(BloomFollower, one_filter_guards_every_namespace_of_its_source) {
  Followed seen;
  EXPECT_EQ(seen.find("7"), Finding::not_fresh);
  EXPECT_EQ(seen.step(), 250ms);
  for (const std::size_t ns : {0U, 1U}) {
    EXPECT_EQ(seen.find("7", ns), Finding::may_exist);
    EXPECT_EQ(seen.find("700", ns), Finding::absent);
  }
  EXPECT_EQ(seen.state(), State::ready);
  EXPECT_EQ(seen.follower.status().state, filter::SourceState::following);
}

TEST(BloomFollower, a_look_answers_readers_but_those_that_come_as_its_time_is_read) {
  Followed seen;
  EXPECT_EQ(seen.follower.question_pace(), std::nullopt);
  seen.step();
  EXPECT_EQ(seen.told, 1);
  EXPECT_EQ(seen.follower.question_pace(), 10ms);
  seen.questions.want();
  seen.step();
  EXPECT_EQ(seen.told, 2);
  EXPECT_FALSE(seen.questions.is_wanted());
  seen.on_clock = [&seen] { seen.questions.want(); };
  seen.step();
  EXPECT_TRUE(seen.questions.is_wanted());
  EXPECT_FALSE(seen.questions.serves_strict());  // what Redis has is not what a database has
}

TEST(BloomFollower, an_unchanged_filter_is_proven_by_each_look_from_before_it) {
  Followed seen;
  seen.step();
  seen.bench.clock.advance(999ms);
  EXPECT_EQ(seen.find("700"), Finding::absent);
  seen.bench.clock.advance(1ms);
  EXPECT_EQ(seen.find("700"), Finding::not_fresh) << "the proof is too old";
  seen.step();
  EXPECT_EQ(seen.script.readings, 1) << "it need not be read again";
  EXPECT_EQ(seen.find("700"), Finding::absent);
}

// Items that come while it is read may not be in it.
TEST(BloomFollower, a_reading_proves_what_was_there_before_it_began) {
  Followed seen;
  seen.script.while_read = [&] { seen.bench.clock.advance(300ms); };
  seen.step();
  seen.bench.clock.advance(699ms);
  EXPECT_EQ(seen.find("700"), Finding::absent);
  seen.bench.clock.advance(1ms);
  EXPECT_EQ(seen.find("700"), Finding::not_fresh);
}

TEST(BloomFollower, there_is_no_gap_while_a_filter_changes_all_the_time) {
  Followed seen;
  seen.script.while_read = [&] {
    seen.bench.clock.advance(10ms);
    ASSERT_TRUE(seen.script.readings == 1 || seen.find("9000") == Finding::absent);
  };
  seen.step();
  seen.bench.clock.advance(250ms);
  seen.changed();
  for (int more = 101; more < 140; ++more) {
    seen.give(filter_of(more));
    const nanoseconds pause = seen.step();
    EXPECT_LE(pause, 250ms);
    EXPECT_EQ(seen.find(std::to_string(more - 1)), Finding::may_exist);
    EXPECT_EQ(seen.find("9000"), Finding::absent);
    seen.bench.clock.advance(250ms);
  }
  EXPECT_EQ(seen.script.readings, 40);
}

TEST(BloomFollower, it_reads_a_quarter_of_the_time_at_most_and_says_which_max_lag_would_do) {
  Followed seen;
  seen.script.while_read = [&] { seen.bench.clock.advance(2s); };
  seen.step();
  EXPECT_EQ(seen.find("700"), Finding::not_fresh);
  EXPECT_EQ(seen.state(), State::lagging);
  EXPECT_THAT(seen.why(), HasSubstr("takes 2.0 s to read"));
  EXPECT_THAT(seen.why(), HasSubstr("max_lag to 11.2 s"));
  seen.changed();
  for (int i = 0; i < 23; ++i) {
    seen.bench.clock.advance(250ms);
    seen.step();
  }
  EXPECT_EQ(seen.script.readings, 1);
  seen.bench.clock.advance(250ms);
  seen.step();
  EXPECT_EQ(seen.script.readings, 2);
}

TEST(BloomFollower, what_it_reads_in_vain_is_not_read_more_often) {
  Followed seen;
  seen.script.while_read = [&] { seen.bench.clock.advance(5s); };
  seen.script.reading = {.kind = BloomReading::Kind::unclear, .why = "it changes"};
  EXPECT_EQ(seen.step(), 15s);
  EXPECT_EQ(seen.state(), State::loading);
  seen.script.reading = {.kind = BloomReading::Kind::refused, .why = "it is none"};
  EXPECT_EQ(seen.step(), 15s);
}

TEST(BloomFollower, what_is_refused_passes_at_once_and_says_why) {
  Followed seen;
  seen.step();
  seen.changed();
  seen.script.reading = {.kind = BloomReading::Kind::refused, .why = "it is of another size"};
  seen.step();
  EXPECT_EQ(seen.find("700"), Finding::not_fresh);
  EXPECT_EQ(seen.state(), State::refused);
  EXPECT_EQ(seen.why(), "it is of another size");
  EXPECT_EQ(seen.follower.status().state, filter::SourceState::refused);
  seen.give(filter_of(100));
  seen.step();
  EXPECT_EQ(seen.find("700"), Finding::absent);
}

TEST(BloomFollower, what_is_lost_counts_until_its_proof_is_too_old) {
  Followed seen;
  seen.step();
  seen.script.look = {.kind = BloomLook::Kind::lost, .why = "nobody answers"};
  seen.script.reading = {.kind = BloomReading::Kind::lost, .why = "nobody answers"};
  seen.bench.clock.advance(500ms);
  EXPECT_LE(seen.step(), 250ms);
  EXPECT_EQ(seen.find("700"), Finding::absent);
  EXPECT_EQ(seen.state(), State::ready);
  seen.bench.clock.advance(500ms);
  seen.step();
  EXPECT_EQ(seen.find("700"), Finding::not_fresh);
  EXPECT_EQ(seen.state(), State::down);
  EXPECT_EQ(seen.why(), "nobody answers");
}

TEST(BloomFollower, one_with_fewer_bits_counts_when_it_has_as_many) {
  Followed seen;
  seen.step();
  seen.changed();
  seen.give(filter_of(50));
  seen.step();
  EXPECT_EQ(seen.find("700"), Finding::not_fresh);
  EXPECT_EQ(seen.state(), State::loading);
  EXPECT_THAT(seen.why(), HasSubstr("the filter was recreated"));
  seen.give(filter_of(100));
  seen.step();
  EXPECT_EQ(seen.find("700"), Finding::absent);
}

TEST(BloomFollower, one_with_fewer_bits_counts_when_it_has_stood_still) {
  Followed seen;
  seen.step();
  seen.changed();
  seen.give(filter_of(50));
  seen.step();
  seen.bench.clock.advance(9s);
  seen.give(filter_of(51));
  seen.step();
  seen.script.look.kind = BloomLook::Kind::unchanged;
  seen.bench.clock.advance(BloomFollower::kStandsStill - 1ns);
  seen.step();
  EXPECT_EQ(seen.find("700"), Finding::not_fresh) << "it was added to 10 s ago, nearly";
  seen.bench.clock.advance(1ns);
  seen.step();
  EXPECT_EQ(seen.find("700"), Finding::absent);
  EXPECT_EQ(seen.find("50"), Finding::may_exist);
}

TEST(BloomFollower, one_with_fewer_bits_counts_when_an_operator_says_so) {
  Followed seen;
  seen.step();
  seen.changed();
  seen.give(filter_of(50));
  seen.step();
  ASSERT_EQ(seen.find("700"), Finding::not_fresh);
  seen.bench.parts[0].ask_for_rebuild();
  seen.step();
  EXPECT_EQ(seen.find("700"), Finding::absent);
}

TEST(BloomFollower, one_that_comes_where_there_was_none_counts_when_it_has_stood_still) {
  Followed seen;
  seen.script.reading = {
      .kind = BloomReading::Kind::refused, .why = "there is none", .is_missing = true};
  seen.step();
  seen.give(filter_of(1));
  seen.step();
  EXPECT_EQ(seen.find("700"), Finding::not_fresh);
  EXPECT_THAT(seen.why(), HasSubstr("may still be filling"));
  seen.bench.clock.advance(BloomFollower::kStandsStill - 1ns);
  seen.step();
  EXPECT_EQ(seen.find("700"), Finding::not_fresh);
  seen.bench.clock.advance(1ns);
  seen.step();
  EXPECT_EQ(seen.find("700"), Finding::absent);
}

TEST(BloomFollower, what_may_lose_items_counts_at_once) {
  Followed seen;
  seen.script.gains = false;
  seen.step();
  seen.changed();
  seen.give(filter_of(50));
  seen.step();
  EXPECT_EQ(seen.find("70"), Finding::absent);
}

TEST(BloomFollower, whatever_is_thrown_is_as_if_it_were_lost) {
  Followed seen;
  seen.script.while_read = [] { throw std::runtime_error("no memory"); };
  seen.step();
  EXPECT_EQ(seen.state(), State::down);
  EXPECT_EQ(seen.why(), "no memory");
}

TEST(BloomFollower, in_the_end_everything_passes) {
  Followed seen;
  seen.step();
  seen.follower.finish();
  EXPECT_EQ(seen.find("700"), Finding::not_fresh);
}

}  // namespace
}  // namespace cuckooguard::source
