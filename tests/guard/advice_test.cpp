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
          .found = 169'000,
          .compared = 830'000,
          .tolerate = 10};
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
  EXPECT_THAT(advice(with(Cause::unknown, 2)), HasSubstr("could not be looked up in the source"));
  Evidence open = good();
  open.contradictions.open = 1;
  Evidence dropped = good();
  dropped.contradictions.dropped = 1;
  for (const Evidence& seen :
       {with(Cause::hidden_value, 1), with(Cause::unknown, 1), open, dropped}) {
    EXPECT_THAT(advice(seen), Not(HasSubstr("ready"))) << advice(seen);
  }
}

// A UUID's text in the key and its bytes in the column: with redis-first all rows would be hidden.
TEST(Advice, blames_no_cache_where_no_look_up_could_have_found_a_row) {
  Evidence seen = with(Cause::hidden_value, 1000);
  EXPECT_THAT(advice(seen), HasSubstr("only Redis has those values"));
  seen.found = 2000;
  EXPECT_THAT(advice(seen), HasSubstr("spell the same values differently"));
  EXPECT_THAT(advice(seen), Not(HasSubstr("redis-first")));
}

TEST(Advice, a_row_that_came_at_about_the_same_time_is_told_and_no_obstacle) {
  EXPECT_EQ(advice(with(Cause::late_row, 1)),
            "12 days, 0 hidden rows, 1 late row, 83 % of look-ups would have been stopped; ready "
            "for enforce");
}

TEST(Advice, needs_time_and_comparisons_before_it_says_ready) {
  Evidence few = good();
  few.compared = kComparedMin - 1;
  few.compared = 412;
  EXPECT_THAT(advice(few), testing::EndsWith("; not enough data yet: 412 of 1,000 comparisons"));
  Evidence brief = good();
  brief.watched = minutes(59);
  EXPECT_EQ(advice(brief),
            "59 minutes, 0 hidden rows, 83 % of look-ups would have been stopped; not enough data "
            "yet: 59 min of 1 h");
  EXPECT_EQ(advice(Evidence{}),
            "nothing has been compared with Redis yet; 0 seconds, 0 hidden rows, 0 % of look-ups "
            "would have been stopped; not enough data yet: 0 of 1,000 comparisons, 0 min of 1 h");
}

TEST(Advice, while_there_is_no_absent_reply_takes_values_for_the_applications_own_placeholders) {
  Evidence seen = with(Cause::hidden_value, 2);
  EXPECT_THAT(advice(seen), Not(HasSubstr("placeholders")));
  seen.has_absent_reply = false;
  EXPECT_THAT(advice(seen),
              HasSubstr("a cache is stale, or your own placeholders: set absent_reply now; see "));
  Evidence asked = with(Cause::unknown, 2);
  asked.has_absent_reply = false;
  EXPECT_THAT(advice(asked), HasSubstr("or your own placeholders: set absent_reply now"));
  Evidence ready = good();
  ready.has_absent_reply = false;
  EXPECT_THAT(advice(ready), testing::EndsWith("; ready for enforce, once absent_reply is set"));
}

TEST(Advice, says_first_what_has_kept_most_reads_from_being_looked_at) {
  Evidence seen = good();
  seen.reads = {.all = 2000, .not_allowed = 1000, .unavailable = 0, .unguarded = 1000};
  EXPECT_THAT(advice(seen), testing::StartsWith("12 days")) << "half is not most";
  seen.reads.not_allowed = 1001;
  EXPECT_THAT(
      advice(seen),
      testing::StartsWith("most reads (1,001 of 2,000) were not checked because the permissions of "
                          "their users are unknown: see upstream.control; 12 days"));
  seen.reads = {.all = 2000, .not_allowed = 0, .unavailable = 1900, .unguarded = 0};
  EXPECT_THAT(advice(seen),
              testing::StartsWith("most reads (1,900 of 2,000) came while Redis was not ready"));
  seen.reads = {.all = 2000, .not_allowed = 0, .unavailable = 0, .unguarded = 1900};
  EXPECT_THAT(advice(seen),
              testing::StartsWith("most reads (1,900 of 2,000) belong to no namespace; 12 days"));
  seen.not_fresh = 600'000;
  EXPECT_THAT(
      advice(seen),
      testing::StartsWith(
          "most reads (600,000 of 1,000,000) came while the filter was not ready; 12 days"));
}

TEST(Advice, of_a_template_that_no_read_matches_tells_how_those_begin_that_may_be_meant) {
  Evidence seen{.watched = hours(3)};
  seen.reads = {.all = 5000, .unguarded = 5000};
  seen.shape = "user:";
  seen.reads_of_shape = 4998;
  EXPECT_EQ(advice(seen),
            "no read matched this template; about 4,998 unguarded reads begin with `user:`; try "
            "`cuckooguard explain KEY`");
  seen.templates = 2;
  seen.shape.clear();
  EXPECT_EQ(advice(seen),
            "no read matched these templates; 5,000 reads belong to no namespace; try `cuckooguard "
            "explain KEY`");
  seen.reads.not_allowed = 6000;
  seen.reads.all = 11'000;
  EXPECT_THAT(advice(seen), testing::ContainsRegex("^most reads .* were not checked.*; no read"));
}

TEST(Advice, finds_the_shape_that_is_a_typing_error_away_else_a_common_one) {
  GuardedShop shop;
  shop.process.guards = {shop.guard.get()};
  const auto of = [&shop](std::uint32_t ns) { return evidence(shop.guard->parts(), ns, shop.now); };
  EXPECT_FALSE(of(GuardedShop::kUsers).is_unmatched()) << "there were no reads";
  for (int i = 0; i < 3; ++i) {
    shop.decide({"GET", "users:1"});
  }
  for (int i = 0; i < 50; ++i) {
    shop.decide({"GET", "session:x"});
  }
  EXPECT_EQ(of(GuardedShop::kUsers).shape, "users:");
  EXPECT_EQ(of(GuardedShop::kUsers).reads_of_shape, 3U);
  EXPECT_EQ(of(GuardedShop::kItems).shape, "") << "fifty are no proof of anything";
  for (int i = 0; i < 10'000; ++i) {
    shop.decide({"GET", "session:x"});
  }
  EXPECT_EQ(of(GuardedShop::kItems).shape, "session:");
  EXPECT_EQ(of(GuardedShop::kUsers).shape, "users:");
  EXPECT_EQ(of(GuardedShop::kUsers).reads.all, 10'053U);
  shop.decide({"GET", "user:1"});
  EXPECT_FALSE(of(GuardedShop::kUsers).is_unmatched());
  EXPECT_EQ(of(GuardedShop::kUsers).reads.all, 10'054U);
}

TEST(Advice, in_enforce_tells_what_the_samples_came_to) {
  Evidence seen = good();
  seen.mode = config::Mode::enforce;
  seen.compared = 83;
  EXPECT_EQ(advice(seen), "12 days, 0 hidden rows in 83 comparisons; no problem was found");
  Evidence bad = with(Cause::hidden_row, 2);
  bad.mode = config::Mode::enforce;
  EXPECT_THAT(advice(bad), HasSubstr(": switch back to observe; see event=hidden_row"));
  seen.mode = config::Mode::bypass;
  EXPECT_EQ(advice(seen), "");
}

TEST(Advice, in_enforce_does_not_call_well_what_was_never_compared) {
  Evidence seen = good();
  seen.mode = config::Mode::enforce;
  seen.compared = 0;
  EXPECT_EQ(advice(seen),
            "nothing has been compared with Redis yet; 12 days, 0 hidden rows in 0 comparisons");
}

TEST(Advice, says_first_that_reads_come_in_another_db_and_calls_nothing_ready_then) {
  for (const config::Mode mode : {config::Mode::observe, config::Mode::enforce}) {
    Evidence seen = good();
    seen.mode = mode;
    seen.keys = 4000;
    seen.other_db = 3967;
    EXPECT_THAT(
        advice(seen),
        testing::StartsWith("3,967 of 4,000 reads came in a db other than 0 and passed: set `db` "
                            "to the number that the application selects; 12 days"));
    EXPECT_THAT(advice(seen), Not(testing::ContainsRegex("ready|no problem was found")));
    seen.other_db = 40;
    EXPECT_THAT(advice(seen), testing::StartsWith("40 of 4,000 reads"));
    seen.other_db = 39;
    EXPECT_THAT(advice(seen), testing::StartsWith("12 days")) << "somebody has looked";
  }
}

TEST(Advice, asks_for_tolerate_where_nothing_is_and_somebody_enforces_or_may) {
  Evidence seen = good();
  seen.tolerate = 0;
  EXPECT_THAT(advice(seen), HasSubstr("; ready for enforce; set tolerate: 10/s, so that"));
  seen.has_absent_reply = false;
  EXPECT_THAT(advice(seen), HasSubstr("once absent_reply is set; set tolerate: 10/s"));
  seen.mode = config::Mode::enforce;
  EXPECT_THAT(advice(seen), HasSubstr("; no problem was found; set tolerate: 10/s"));
  seen.mode = config::Mode::observe;
  seen.compared = 1;
  EXPECT_THAT(advice(seen), Not(HasSubstr("tolerate"))) << "first it must be seen what it does";
}

TEST(Advice, says_first_why_keys_pass_now_and_calls_nothing_ready_then) {
  for (const config::Mode mode : {config::Mode::observe, config::Mode::enforce}) {
    Evidence seen = good();
    seen.mode = mode;
    seen.reads = {.all = 2000, .not_allowed = 2000};
    seen.why_keys_pass = "all keys pass: it is loading";
    EXPECT_THAT(advice(seen), testing::StartsWith("all keys pass: it is loading; 12 days, 0 "));
    EXPECT_THAT(advice(seen), Not(testing::ContainsRegex("ready|no problem was found|most reads")));
    seen.contradictions.found[static_cast<std::size_t>(Cause::hidden_row)] = 1;
    EXPECT_THAT(advice(seen), HasSubstr("see event=hidden_row in the log"));
  }
}

TEST(Advice, takes_why_keys_pass_from_what_the_page_says) {
  GuardedShop shop;
  shop.filters[GuardedShop::kUsers]->set_state(filter::State::ready);
  shop.filters[GuardedShop::kUsers]->set_fresh_until(shop.now + hours(1));
  const auto why = [&shop] {
    return evidence(shop.guard->parts(), GuardedShop::kUsers, shop.now).why_keys_pass;
  };
  EXPECT_EQ(why(), "");
  shop.filters[GuardedShop::kUsers]->set_state(filter::State::down, "the database is gone");
  EXPECT_EQ(why(), "all keys pass: the database is gone");
  shop.facts.report(
      {.state = redis::ControlReport::State::limited, .why = "NOPERM", .hint = "ACL"});
  EXPECT_EQ(why(), "all keys pass: the database is gone") << "that costs no key";
  shop.facts.report(
      {.state = redis::ControlReport::State::not_allowed, .why = "NOAUTH", .hint = "log in"});
  EXPECT_EQ(why(), "Redis denies the guard permissions that it needs (NOAUTH): log in");
  shop.facts.report(
      {.state = redis::ControlReport::State::unsupported, .why = "odd", .hint = "no"});
  EXPECT_EQ(why(), "odd: no");
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
  Client client;
  const std::initializer_list<std::string_view> get{"GET", "user:501"};
  other.decide(other.ask(std::span(get.begin(), get.size()), client, shop.now), 1000);
  shop.spaces[GuardedShop::kUsers].tolerance->set_rate(5);
  shop.send({"SELECT", "1"}, '+');
  shop.decide({"GET", "user:1"});
  other.compare({.ns = GuardedShop::kUsers, .key = "user:501", .reply = kStar, .is_whole = true});
  const Evidence seen = evidence(shop.guard->parts(), GuardedShop::kUsers, shop.now);
  EXPECT_EQ(seen.watched, hours(3));
  EXPECT_EQ(seen.keys, 4U);
  EXPECT_EQ(seen.absent, 2U);
  EXPECT_EQ(seen.compared, 1U);
  EXPECT_EQ(seen.other_db, 1U);
  EXPECT_EQ(seen.tolerate, 5);
  EXPECT_EQ(evidence(shop.guard->parts(), GuardedShop::kCarts, shop.now).db, 2);
  EXPECT_EQ(seen.contradictions.open, 1U);
}

TEST(Advice, never_says_ready_of_one_whose_rows_are_hidden_by_lag) {
  Evidence seen = good();
  seen.log.hidden_by_lag = 3;
  EXPECT_THAT(
      advice(seen),
      testing::EndsWith(
          "; 3 rows would have been hidden just after the commit: its source does not support "
          "consistency: strict: set absent_reply: nil, or let the application send GUARD.WAIT"));
  seen.may_be_strict = true;
  EXPECT_THAT(advice(seen), testing::EndsWith("the commit: set consistency: strict"));
  seen.mode = config::Mode::enforce;
  EXPECT_THAT(advice(seen), HasSubstr("; 3 rows hidden just"));
  seen.is_strict = true;
  EXPECT_THAT(advice(seen), Not(HasSubstr("hidden just"))) << "that was before it was strict";
  seen.log.hidden_in_spite_of_proof = 1;
  EXPECT_THAT(advice(seen), HasSubstr("consistency: strict should prevent this: do not enforce"));
}

TEST(Advice, says_how_many_rows_an_hour_are_read_before_their_commit) {
  Evidence seen = good();
  seen.log.before_commit = 500;
  seen.log.at_commit = 87;
  EXPECT_THAT(advice(seen), testing::EndsWith("; ready for enforce")) << "they are tolerated";
  seen.tolerate = 0;
  EXPECT_THAT(advice(seen),
              HasSubstr("; ready for enforce; 587 rows (2 an hour) were read before or at "
                        "about their commit; set tolerate: 10/s, so that"));
}

TEST(Advice, promises_what_strict_would_have_answered_of_a_sample) {
  Evidence seen = good();
  seen.forecast_answered = 3;
  seen.forecast_passed = 1;
  EXPECT_THAT(advice(seen), HasSubstr(" 83 % of look-ups")) << "nothing waits for proofs";
  seen.is_strict = true;
  EXPECT_THAT(advice(seen), HasSubstr(" 62 % of look-ups"));
}

}  // namespace
}  // namespace cuckooguard::guard
