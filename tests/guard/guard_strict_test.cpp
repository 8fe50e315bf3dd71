// Namespaces in which an absent verdict needs a proof that is newer than the read, and reads of
// absent keys that are forwarded since they are few.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "guard/own_commands.h"
#include "guard/strict_shop.h"

namespace cuckooguard::guard {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using ::testing::IsEmpty;

TEST_F(GuardStrict, an_absent_key_is_answered_only_if_a_question_began_after_the_read_had_arrived) {
  EXPECT_EQ(judge({"GET", "item:plum"}).action, Action::hold);
  prove(GuardedShop::kItems, read_at_);
  EXPECT_EQ(judge({"GET", "item:plum"}).action, Action::hold) << "as old as the read";
  prove(GuardedShop::kItems, read_at_ + kMoment);
  EXPECT_EQ(judge({"GET", "item:plum"}).action, Action::answer);
  EXPECT_EQ(judge({"GET", "item:plum"}).reply, kStar);
}

TEST_F(GuardStrict, a_proof_that_is_good_for_max_lag_alone_is_none) {
  shop_.filters[GuardedShop::kItems]->set_fresh_until(shop_.now + seconds(1));
  EXPECT_EQ(judge({"GET", "item:plum"}).action, Action::hold);
  shop_.spaces[GuardedShop::kItems].consistency = config::Consistency::max_lag;
  EXPECT_EQ(judge({"GET", "item:plum"}).action, Action::answer);
}

TEST_F(GuardStrict, auto_is_strict_where_the_source_can_and_the_absent_reply_is_no_nil) {
  for (GuardedNamespace& space : shop_.spaces) {
    space.consistency = config::Consistency::automatic;
  }
  EXPECT_EQ(judge({"GET", "item:plum"}).action, Action::answer) << "its source cannot";
  questions_.set_serves_strict(true);
  EXPECT_EQ(judge({"GET", "item:plum"}).action, Action::hold);
  EXPECT_EQ(judge({"GET", "user:500"}).action, Action::answer) << "nil";
}

TEST_F(GuardStrict, the_filter_is_asked_again_when_the_proof_has_come) {
  ASSERT_EQ(judge({"GET", "item:plum"}).action, Action::hold);
  filter::LiveFilter& items = *shop_.filters[GuardedShop::kItems];
  items.insert(items.writable()->hash("plum"));
  prove(GuardedShop::kItems, read_at_ + kMoment);
  const Decision after = judge({"GET", "item:plum"});
  EXPECT_EQ(after.action, Action::forward);
  EXPECT_THAT(after.absent_keys, IsEmpty());
  carry_out();
  EXPECT_EQ(shop_.count(GuardedShop::kItems, Verdict::may_exist), 1);
}

TEST_F(GuardStrict, it_is_held_until_strict_hold_has_passed_since_it_arrived) {
  shop_.spaces[GuardedShop::kItems].strict_hold = milliseconds(7);
  EXPECT_EQ(judge({"GET", "item:plum"}).hold_until, read_at_ + milliseconds(7));
  shop_.now += milliseconds(7) - kMoment;
  EXPECT_EQ(judge({"GET", "item:plum"}).action, Action::hold);
  shop_.now += kMoment;
  const Decision late = judge({"GET", "item:plum"});
  EXPECT_EQ(late.action, Action::forward);
  ASSERT_EQ(late.absent_keys.size(), 1U);
  EXPECT_EQ(late.absent_keys[0].replacement, kStar);
  EXPECT_EQ(late.absent_keys[0].read_at, read_at_);
}

TEST_F(GuardStrict, a_question_is_wanted_by_what_lacks_a_proof_alone) {
  judge({"GET", "item:pear"});
  EXPECT_FALSE(questions_.is_wanted()) << "it may exist";
  judge({"GET", "item:plum"}, Unproven::ask_redis);
  EXPECT_TRUE(questions_.is_wanted());
  questions_.begin();
  prove(GuardedShop::kItems, read_at_ + kMoment);
  judge({"GET", "item:plum"});
  EXPECT_FALSE(questions_.is_wanted()) << "it has been proven";
}

TEST_F(GuardStrict, what_passes_for_another_reason_asks_for_nothing) {
  shop_.write({"SET", "item:plum", "x"});
  EXPECT_EQ(judge({"GET", "item:plum"}).action, Action::forward) << "just written";
  shop_.filters[GuardedShop::kItems]->expire();
  EXPECT_EQ(judge({"GET", "item:fig"}).action, Action::forward) << "not fresh";
  EXPECT_FALSE(questions_.is_wanted());
}

TEST_F(GuardStrict, a_verdict_counts_when_it_is_carried_out_and_once) {
  for (int i = 0; i < 3; ++i) {
    judge({"GET", "item:plum"});
    judge({"GET", "nobodys:1"});
  }
  EXPECT_EQ(shop_.guard->counters().guarded_keys.value(), 0);
  EXPECT_EQ(shop_.guard->counters().unguarded_keys.value(), 0);
  prove(GuardedShop::kItems, read_at_ + kMoment);
  judge({"GET", "item:plum"});
  carry_out();
  carry_out();
  EXPECT_EQ(shop_.count(GuardedShop::kItems, Verdict::absent), 1);
  EXPECT_EQ(shop_.count(GuardedShop::kItems, Verdict::unproven), 0);
  EXPECT_EQ(shop_.guard->counters().answered.value(), 1);
}

TEST_F(GuardStrict, what_is_not_held_goes_to_redis_and_counts_as_unproven) {
  const Decision forwarded = judge({"GET", "item:plum"}, Unproven::ask_redis);
  EXPECT_EQ(forwarded.action, Action::forward);
  EXPECT_EQ(forwarded.absent_keys.size(), 1U);
  carry_out();
  EXPECT_EQ(shop_.count(GuardedShop::kItems, Verdict::unproven), 1);
  EXPECT_EQ(judge({"STRLEN", "item:plum"}, Unproven::ask_redis).action, Action::forward);
}

TEST_F(GuardStrict, a_nil_is_replaced_only_if_the_key_is_still_absent_and_proven_to_be) {
  const AbsentKeyReply plum{.ns = GuardedShop::kItems, .key = "item:plum", .read_at = read_at_};
  const auto may_replace = [&] {
    AbsentKeyReply reply = plum;
    reply.numbering = shop_.guard->parts().numbering;
    return shop_.guard->may_replace(reply, shop_.now);
  };
  EXPECT_FALSE(may_replace());
  prove(GuardedShop::kItems, read_at_ + kMoment);
  EXPECT_TRUE(may_replace());
  EXPECT_EQ(shop_.guard->counters(GuardedShop::kItems).replaced.value(), 1);
  filter::LiveFilter& items = *shop_.filters[GuardedShop::kItems];
  items.insert(items.writable()->hash("plum"));
  EXPECT_FALSE(may_replace()) << "it may exist by now";
}

TEST_F(GuardStrict, an_mget_waits_as_a_whole) {
  EXPECT_EQ(judge({"MGET", "item:pear", "item:plum"}).action, Action::hold);
  EXPECT_EQ(judge({"MGET", "item:pear", "item:apple"}).action, Action::forward);
  const Decision late = judge({"MGET", "item:pear", "item:plum"}, Unproven::ask_redis);
  EXPECT_EQ(late.action, Action::forward);
  ASSERT_EQ(late.absent_keys.size(), 1U);
  EXPECT_EQ(late.absent_keys[0].element, 1);
  EXPECT_EQ(late.absent_keys[0].read_at, read_at_);
  prove(GuardedShop::kItems, read_at_ + kMoment);
  EXPECT_EQ(judge({"MGET", "item:pear", "item:plum"}).action, Action::merge);
}

TEST_F(GuardStrict, a_read_that_is_forwarded_for_another_of_its_keys_does_not_wait) {
  EXPECT_EQ(judge({"SINTER", "item:plum", "item:pear"}).action, Action::forward);
  EXPECT_EQ(judge({"SINTER", "item:plum", "item:fig"}).action, Action::hold);
}

TEST_F(GuardStrict, of_several_namespaces_each_needs_its_proof) {
  prove(GuardedShop::kItems, read_at_ + kMoment);
  EXPECT_EQ(judge({"MGET", "item:plum", "user:500"}).action, Action::hold);
  prove(GuardedShop::kUsers, read_at_ + kMoment);
  EXPECT_EQ(judge({"MGET", "item:plum", "user:500"}).action, Action::answer);
}

TEST_F(GuardStrict, an_id_just_above_the_largest_does_not_pass_for_nothing) {
  EXPECT_EQ(judge({"GET", "user:105"}).action, Action::hold);
  prove(GuardedShop::kUsers, read_at_ + kMoment);
  EXPECT_EQ(judge({"GET", "user:105"}).action, Action::answer);
  shop_.spaces[GuardedShop::kUsers].tolerance->set_rate(10);
  EXPECT_EQ(judge({"GET", "user:105"}).action, Action::forward);
  carry_out();
  EXPECT_EQ(shop_.count(GuardedShop::kUsers, Verdict::fresh_id), 1);
}

// Ten are in store; half of them is for ids just above the largest.
TEST_F(GuardStrict, fresh_ids_have_the_last_half_of_what_is_tolerated) {
  shop_.spaces[GuardedShop::kUsers].tolerance->set_rate(10);
  const auto forwarded = [&](std::string_view key) {
    int count = 0;
    while (count < 100 && judge({"GET", key}).action == Action::forward) {
      carry_out();
      ++count;
    }
    return count;
  };
  EXPECT_EQ(forwarded("user:500"), 5);
  EXPECT_EQ(forwarded("user:105"), 5);
  EXPECT_EQ(forwarded("user:500"), 0);
}

TEST_F(GuardStrict, when_half_of_the_last_holds_were_in_vain_nothing_is_held_for_a_while) {
  for (std::size_t i = 0; i < HoldRecord::kHolds / 2; ++i) {
    read_at_ = shop_.now;
    ASSERT_EQ(judge({"GET", "item:plum"}).action, Action::hold) << i;
    shop_.now += milliseconds(20);
    prove_all(read_at_ - kMoment);
    ASSERT_EQ(judge({"GET", "item:plum"}, Unproven::hold, true).action, Action::forward);
    carry_out();
  }
  read_at_ = shop_.now;
  EXPECT_EQ(judge({"GET", "item:plum"}).action, Action::forward);
  EXPECT_EQ(judge({"GET", "user:500"}).action, Action::hold) << "another namespace";
  shop_.now += HoldRecord::kPause;
  read_at_ = shop_.now;
  prove_all(read_at_ - kMoment);
  EXPECT_EQ(judge({"GET", "item:plum"}).action, Action::hold);
}

TEST_F(GuardStrict, a_crowd_in_one_slow_moment_does_not_end_protection) {
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(judge({"MGET", "item:plum", "item:fig", "item:kiwi"}).action, Action::hold) << i;
  }
  shop_.now += milliseconds(20);
  prove_all(read_at_ - kMoment);
  for (int i = 0; i < 1000; ++i) {
    judge({"MGET", "item:plum", "item:fig", "item:kiwi"}, Unproven::hold, true);
    carry_out();
  }
  read_at_ = shop_.now;
  EXPECT_EQ(judge({"GET", "item:plum"}).action, Action::hold);
}

TEST_F(GuardStrict, a_source_that_refuses_strict_reads_has_none_of_them_answered) {
  questions_.set_refuses_strict(true);
  prove_all(read_at_ + kMoment);
  EXPECT_EQ(judge({"GET", "item:plum"}).action, Action::forward);
  EXPECT_FALSE(questions_.is_wanted());
}

TEST_F(GuardStrict, ids_just_above_the_largest_use_up_no_more_than_there_is) {
  Tolerance& tolerance = *shop_.spaces[GuardedShop::kUsers].tolerance;
  tolerance.set_rate(10);
  for (int i = 0; i < 1000; ++i) {
    judge({"GET", "user:105"});
    carry_out();
    tolerance.take(shop_.now);
  }
  EXPECT_TRUE(tolerance.has_room(shop_.now + seconds(1), Tolerance::Use::absent_key));
  shop_.spaces[GuardedShop::kUsers].consistency = config::Consistency::max_lag;
  shop_.now += seconds(2);
  prove_all(shop_.now - kMoment);
  for (int i = 0; i < 1000; ++i) {
    judge({"GET", "user:105"});
    carry_out();
  }
  EXPECT_TRUE(tolerance.has_room(shop_.now, Tolerance::Use::absent_key))
      << "where they pass anyway they use up nothing";
}

TEST_F(GuardStrict, a_hold_that_ends_early_because_its_client_sends_more_is_not_in_vain) {
  for (std::size_t i = 0; i < HoldRecord::kHolds; ++i) {
    judge({"GET", "item:plum"}, Unproven::ask_redis, true);
    carry_out();
  }
  EXPECT_EQ(judge({"GET", "item:plum"}).action, Action::hold);
}

TEST_F(GuardStrict, guard_check_waits_for_the_proof_too_and_says_one_without) {
  const std::vector<std::string_view> check{"GUARD.CHECK", "item:plum"};
  const auto decide = [&](TimePoint now) {
    return shop_.serve(check, {.now = now, .since = shop_.now, .has_room = true});
  };
  EXPECT_EQ(decide(shop_.now).action, OwnDecision::Action::hold_for_client);
  EXPECT_TRUE(questions_.is_wanted());
  EXPECT_EQ(decide(shop_.now + milliseconds(20)).reply, "*1\r\n:1\r\n");
  prove(GuardedShop::kItems, shop_.now + kMoment);
  EXPECT_EQ(decide(shop_.now).reply, "*1\r\n:0\r\n");
}

class GuardTolerates : public testing::Test {
 protected:
  GuardTolerates() { shop_.spaces[GuardedShop::kItems].tolerance->set_rate(4); }

  GuardedShop shop_;
};

TEST_F(GuardTolerates, a_few_reads_of_absent_keys_are_forwarded_and_the_rest_is_answered) {
  EXPECT_FALSE(shop_.answers({"GET", "item:plum"}));
  EXPECT_FALSE(shop_.answers({"GET", "item:fig"}));
  EXPECT_TRUE(shop_.answers({"GET", "item:plum"}));
  shop_.now += milliseconds(250);
  EXPECT_FALSE(shop_.answers({"GET", "item:plum"}));
  EXPECT_TRUE(shop_.answers({"GET", "item:plum"}));
  EXPECT_EQ(shop_.count(GuardedShop::kItems, Verdict::tolerated), 3);
  EXPECT_EQ(shop_.count(GuardedShop::kItems, Verdict::absent), 2);
}

TEST_F(GuardTolerates, what_is_forwarded_is_compared_and_not_replaced) {
  const Decision forwarded = shop_.decide({"GET", "item:plum"});
  ASSERT_EQ(forwarded.absent_keys.size(), 1U);
  EXPECT_EQ(forwarded.absent_keys[0].replacement, "");
}

TEST_F(GuardTolerates, keys_that_may_exist_use_nothing_up) {
  for (int i = 0; i < 100; ++i) {
    shop_.decide({"GET", "item:pear"});
  }
  EXPECT_FALSE(shop_.answers({"GET", "item:plum"}));
}

TEST_F(GuardTolerates, each_key_of_an_mget_counts) {
  const Decision decision =
      shop_.decide({"MGET", "item:plum", "item:fig", "item:kiwi", "item:lime"});
  EXPECT_EQ(decision.action, Action::merge);
  EXPECT_EQ(shop_.count(GuardedShop::kItems, Verdict::tolerated), 2);
  EXPECT_EQ(shop_.count(GuardedShop::kItems, Verdict::absent), 2);
}

TEST_F(GuardTolerates, a_verdict_that_is_not_carried_out_uses_nothing_up) {
  const std::vector<std::string_view> get{"GET", "item:plum"};
  for (int i = 0; i < 10; ++i) {
    const Question question = shop_.guard->ask(get, shop_.client, shop_.now);
    EXPECT_EQ(shop_.guard->judge(question, shop_.room).action, Action::forward);
  }
}

TEST(Tolerance, is_nothing_at_a_rate_of_zero_and_whole_reads_at_a_low_one) {
  const TimePoint now{std::chrono::hours(5)};
  EXPECT_FALSE(Tolerance(0).has_room(now, Tolerance::Use::fresh_id));
  Tolerance slow(0.5);
  EXPECT_TRUE(slow.has_room(now, Tolerance::Use::absent_key));
  slow.take(now);
  EXPECT_FALSE(slow.has_room(now + milliseconds(1999), Tolerance::Use::absent_key));
  EXPECT_TRUE(slow.has_room(now + milliseconds(2000), Tolerance::Use::absent_key));
}

TEST_F(GuardStrict, what_is_on_trial_is_compared_with_redis_and_counted) {
  shop_.spaces[GuardedShop::kItems].consistency = config::Consistency::max_lag;
  prove_all(shop_.now);
  ASSERT_EQ(judge({"GET", "item:plum"}).action, Action::answer);
  filter::Trial& trial = questions_.trial();
  trial.begin();
  const Decision tried = judge({"GET", "item:plum"});
  EXPECT_EQ(tried.action, Action::forward);
  ASSERT_EQ(tried.absent_keys.size(), 1U);
  const std::string missing(tried.absent_keys[0].missing);
  shop_.guard->compare({.numbering = tried.absent_keys[0].numbering,
                        .ns = GuardedShop::kItems,
                        .key = "item:plum",
                        .missing = missing,
                        .reply = missing,
                        .is_whole = true});
  EXPECT_EQ(trial.compared, 1U);
  trial.is_on = false;
  EXPECT_EQ(judge({"GET", "item:plum"}).action, Action::answer);
}

TEST_F(GuardStrict, what_is_tolerated_is_shared_with_the_guards_of_its_source) {
  Tolerance& tolerance = *shop_.spaces[GuardedShop::kUsers].tolerance;
  tolerance.set_rate(10);
  questions_.set_sharers(5);
  shop_.spaces[GuardedShop::kUsers].consistency = config::Consistency::max_lag;
  for (int i = 0; i < 1000; ++i, shop_.now += milliseconds(100)) {
    prove_all(shop_.now);
    judge({"GET", "user:7000001"});
    carry_out();
  }
  EXPECT_NEAR(static_cast<double>(shop_.count(GuardedShop::kUsers, Verdict::tolerated)), 200, 10)
      << "two a second";
}

TEST(Tolerance, over_time_no_more_than_the_rate_is_forwarded) {
  Tolerance tolerance(100);
  TimePoint now{std::chrono::hours(5)};
  int forwarded = 0;
  for (int i = 0; i < 100'000; ++i, now += milliseconds(1)) {
    if (tolerance.has_room(now, Tolerance::Use::absent_key)) {
      tolerance.take(now);
      ++forwarded;
    }
  }
  EXPECT_NEAR(forwarded, 100 * 100, 51);
}

}  // namespace
}  // namespace cuckooguard::guard
