#include "guard/advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "guard/guarded_shop.h"

namespace cuckooguard::guard {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;
using testing::HasSubstr;
using testing::Not;

// Twelve days of it, and nothing found.
Evidence good() {
  return {.mode = config::Mode::observe,
          .watched = days(12) + hours(5),
          .keys = 1'000'000,
          .absent = 831'000,
          .compared = 830'000};
}

Evidence with(Cause cause, std::uint64_t keys) {
  Evidence seen = good();
  seen.contradictions.found[static_cast<std::size_t>(cause)] = keys;
  return seen;
}

TEST(Advice, says_when_a_namespace_is_ready_to_be_enforced) {
  EXPECT_EQ(advice(good()),
            "12 days, 0 hidden rows, 83 % of look-ups would have been stopped; ready for enforce");
}

TEST(Advice, never_says_ready_of_one_that_hides_rows) {
  EXPECT_EQ(advice(with(Cause::hidden_row, 3)),
            "12 days, 3 hidden rows, 83 % of look-ups would have been stopped: do not enforce; see "
            "event=hidden_row in the log");
  EXPECT_THAT(advice(with(Cause::hidden_row, 1)), HasSubstr(", 1 hidden row,"));
}

TEST(Advice, never_says_ready_while_something_is_unexplained) {
  EXPECT_THAT(advice(with(Cause::hidden_value, 2)), HasSubstr(", 2 hidden values, "));
  EXPECT_THAT(advice(with(Cause::unknown, 2)), HasSubstr("the source could not be asked"));
  Evidence open = good();
  open.contradictions.open = 1;
  Evidence dropped = good();
  dropped.contradictions.dropped = 1;
  for (const Evidence& seen :
       {with(Cause::hidden_value, 1), with(Cause::unknown, 1), open, dropped}) {
    EXPECT_THAT(advice(seen), Not(HasSubstr("ready"))) << advice(seen);
  }
}

TEST(Advice, a_row_that_came_at_about_the_same_time_is_told_and_no_obstacle) {
  EXPECT_EQ(advice(with(Cause::late_row, 1)),
            "12 days, 0 hidden rows, 1 late row, 83 % of look-ups would have been stopped; ready "
            "for enforce");
}

TEST(Advice, needs_time_and_comparisons_before_it_says_ready) {
  Evidence few = good();
  few.compared = kComparedMin - 1;
  EXPECT_THAT(advice(few), HasSubstr("too little seen yet"));
  Evidence brief = good();
  brief.watched = minutes(59);
  EXPECT_EQ(advice(brief),
            "59 minutes, 0 hidden rows, 83 % of look-ups would have been stopped; too little seen "
            "yet");
  EXPECT_EQ(advice(Evidence{}),
            "0 seconds, 0 hidden rows, 0 % of look-ups would have been stopped; too little seen "
            "yet");
}

TEST(Advice, in_enforce_tells_what_the_samples_came_to) {
  Evidence seen = good();
  seen.mode = config::Mode::enforce;
  seen.compared = 83;
  EXPECT_EQ(advice(seen), "12 days, 0 hidden rows in 83 comparisons; nothing speaks against it");
  Evidence bad = with(Cause::hidden_row, 2);
  bad.mode = config::Mode::enforce;
  EXPECT_THAT(advice(bad), HasSubstr(": go back to observe; see event=hidden_row"));
  seen.mode = config::Mode::bypass;
  EXPECT_EQ(advice(seen), "");
}

TEST(Advice, takes_its_evidence_from_all_workers) {
  GuardedShop shop;
  Contradictions contradictions(4);
  shop.process.contradictions = &contradictions;
  shop.process.started_at = shop.now - hours(3);
  shop.spaces[GuardedShop::kUsers].mode = config::Mode::observe;
  Guard other(shop.guard->parts());
  shop.decide({"GET", "user:500"});
  shop.decide({"GET", "user:1"});
  ClientState client;
  const std::initializer_list<std::string_view> get{"GET", "user:501"};
  other.decide(std::span(get.begin(), get.size()), client, shop.now, true);
  other.heard({.ns = GuardedShop::kUsers, .key = "user:501", .reply = kStar, .is_whole = true});
  const Evidence seen = evidence(shop.guard->parts(), GuardedShop::kUsers, shop.now);
  EXPECT_EQ(seen.watched, hours(3));
  EXPECT_EQ(seen.keys, 3U);
  EXPECT_EQ(seen.absent, 2U);
  EXPECT_EQ(seen.compared, 1U);
  EXPECT_EQ(seen.contradictions.open, 1U);
}

}  // namespace
}  // namespace cuckooguard::guard
