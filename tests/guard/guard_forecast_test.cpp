// What is kept of reads of absent keys: for the log, which shows their rows later, and as a sample
// of what enforce would do.
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "guard/strict_shop.h"

namespace cuckooguard::guard {
namespace {

using std::chrono::nanoseconds;

class GuardForecast : public GuardStrict {
 protected:
  GuardForecast() { items().mode = config::Mode::observe; }

  GuardedNamespace& items() { return shop_.spaces[GuardedShop::kItems]; }
  void look_for(std::string_view key) {
    EXPECT_EQ(judge({"GET", key}).action, Action::forward);
    carry_out();
  }
  // The next read comes so much later.
  void pass(nanoseconds time) {
    shop_.now += time;
    read_at_ = shop_.now;
    shop_.filters[GuardedShop::kItems]->set_fresh_until(shop_.now + seconds(1));
  }
  std::pair<std::uint64_t, std::uint64_t> forecast() const {
    const NamespaceCounters& counters = items_counters();
    return {counters.forecast_answered.value(), counters.forecast_passed.value()};
  }
  const NamespaceCounters& items_counters() const {
    return shop_.guard->counters(GuardedShop::kItems);
  }
  // Its row comes, which was committed by then at the latest.
  filter::AbsentReads::Findings committed(std::string_view identity, TimePoint by) {
    const std::uint64_t hash = items().filter->hash(identity);
    shop_.filters[GuardedShop::kItems]->committed({&hash, 1}, {.by = by});
    shop_.pass_readers();
    shop_.filters[GuardedShop::kItems]->prove(shop_.now + kMoment, seconds(1));
    return items().filter->absent_reads();
  }
};

TEST_F(GuardForecast, a_read_that_is_observed_asks_for_a_proof_as_if_it_were_held) {
  look_for("item:plum");
  EXPECT_TRUE(questions_.is_wanted());
  questions_.begin();
  prove(GuardedShop::kItems, read_at_ + kMoment);
  EXPECT_EQ(forecast(), std::pair(std::uint64_t{0}, std::uint64_t{0}));
  look_for("item:fig");
  EXPECT_EQ(forecast(), std::pair(std::uint64_t{1}, std::uint64_t{0}));
}

TEST_F(GuardForecast, what_has_a_row_by_then_would_have_passed) {
  look_for("item:plum");
  filter::LiveFilter& live = *shop_.filters[GuardedShop::kItems];
  live.insert(live.writable()->hash("plum"));
  prove(GuardedShop::kItems, read_at_ + kMoment);
  look_for("item:fig");
  EXPECT_EQ(forecast(), std::pair(std::uint64_t{0}, std::uint64_t{1}));
}

TEST_F(GuardForecast, what_has_no_proof_in_time_would_have_passed) {
  look_for("item:plum");
  pass(items().strict_hold - kMoment);
  look_for("item:fig");
  EXPECT_EQ(forecast(), std::pair(std::uint64_t{0}, std::uint64_t{0}));
  pass(kMoment);
  look_for("item:fig");
  EXPECT_EQ(forecast(), std::pair(std::uint64_t{0}, std::uint64_t{1}));
}

TEST_F(GuardForecast, a_few_reads_are_a_sample) {
  look_for("item:plum");
  questions_.begin();
  prove(GuardedShop::kItems, read_at_ + kMoment);
  for (int i = 0; i < 3; ++i) {
    look_for("item:fig");
  }
  EXPECT_FALSE(questions_.is_wanted());
  pass(Forecasts::kEvery);
  look_for("item:fig");
  EXPECT_TRUE(questions_.is_wanted());
}

TEST_F(GuardForecast, a_namespace_that_is_not_strict_asks_for_nothing) {
  items().consistency = config::Consistency::max_lag;
  look_for("item:plum");
  EXPECT_FALSE(questions_.is_wanted());
}

TEST_F(GuardForecast, what_would_be_tolerated_is_forecast_to_be) {
  items().tolerance = std::make_shared<Tolerance>(1);
  while (items().tolerance->has_room(shop_.now, Tolerance::Use::absent_key, 0)) {
    look_for("item:plum");
    ASSERT_FALSE(questions_.is_wanted());
  }
  look_for("item:plum");
  EXPECT_TRUE(questions_.is_wanted());
}

TEST_F(GuardForecast, the_log_finds_what_was_observed_and_what_would_have_been_said) {
  look_for("item:plum");
  look_for("item:fig");
  EXPECT_EQ(committed("fig", read_at_).hidden(), 0U) << "its proof would have shown the row";
  prove(GuardedShop::kItems, read_at_ + kMoment);
  look_for("item:fig");  // and of the plum there is a proof
  EXPECT_EQ(committed("plum", read_at_).hidden_in_spite_of_proof, 1U) << "so that this must not be";
}

TEST_F(GuardForecast, the_log_finds_what_max_lag_would_have_hidden_but_for_nil) {
  items().consistency = config::Consistency::max_lag;
  look_for("item:plum");
  EXPECT_EQ(committed("plum", read_at_).hidden_by_lag, 1U);
  items().order = config::Order::redis_first;
  look_for("item:fig");
  EXPECT_EQ(committed("fig", read_at_).hidden_by_lag, 1U) << "Redis may have had it";
  items().order = config::Order::guard_first;
  items().absent_reply = AbsentReplyBytes(config::AbsentReply{});
  look_for("item:lime");
  EXPECT_EQ(committed("lime", read_at_).hidden_by_lag, 1U);
  items().may_enforce = false;  // no nil is configured: it is only what it would be
  look_for("item:lime");
  EXPECT_EQ(committed("lime", read_at_).hidden_by_lag, 2U);
}

TEST_F(GuardStrict, the_log_finds_what_was_answered_and_not_what_was_tolerated) {
  GuardedNamespace& items = shop_.spaces[GuardedShop::kItems];
  filter::LiveFilter& live = *shop_.filters[GuardedShop::kItems];
  const auto hidden = [&](std::string_view identity) {
    const std::uint64_t hash = items.filter->hash(identity);
    const std::uint64_t before = items.filter->absent_reads().hidden();
    live.committed({&hash, 1}, {.by = read_at_});
    shop_.pass_readers();
    live.prove(read_at_ + kMoment, seconds(1));
    return items.filter->absent_reads().hidden() - before;
  };
  judge({"GET", "item:plum"});
  carry_out();
  EXPECT_EQ(hidden("plum"), 0U) << "it waits";
  EXPECT_EQ(judge({"GET", "item:plum"}).action, Action::answer);
  EXPECT_EQ(hidden("plum"), 0U) << "not carried out";
  carry_out();
  EXPECT_EQ(hidden("plum"), 1U);
  items.tolerance = std::make_shared<Tolerance>(10);
  EXPECT_EQ(judge({"GET", "item:fig"}).action, Action::forward);
  carry_out();
  EXPECT_EQ(hidden("fig"), 0U);
}

}  // namespace
}  // namespace cuckooguard::guard
