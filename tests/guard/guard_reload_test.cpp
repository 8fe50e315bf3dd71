// A Guard that is given other parts while clients are there, and GUARD.RELOAD.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "guard/contradictions.h"
#include "guard/guarded_shop.h"
#include "guard/own_commands.h"
#include "guard/process.h"

namespace cuckooguard::guard {
namespace {

using testing::StartsWith;

Guard::Parts renumbered(const GuardedShop& shop) {
  Guard::Parts parts = shop.guard->parts();
  ++parts.numbering;
  return parts;
}

TEST(GuardReload, a_reply_to_a_key_of_before_is_not_counted_for_another_namespace) {
  GuardedShop shop;
  shop.spaces[GuardedShop::kUsers].mode = config::Mode::observe;
  const AbsentKey key = shop.decide({"GET", "user:500"}).absent_keys[0];
  const auto hear = [&] {
    shop.guard->compare(
        {.numbering = key.numbering, .ns = key.ns, .reply = kStar, .is_whole = true});
    return shop.guard->counters(key.ns).contradicted.value();
  };
  EXPECT_EQ(hear(), 1U);
  shop.guard->adopt(shop.guard->parts());
  EXPECT_EQ(hear(), 2U) << "the numbers are the same";
  shop.guard->adopt(renumbered(shop));
  EXPECT_EQ(hear(), 2U);
}

TEST(GuardReload, nobody_is_answered_by_rights_that_were_asked_for_under_other_numbers) {
  GuardedShop shop;
  redis::UserAccess access;
  access.on_readable.set();
  access.namespaces.assign(4, redis::KeyAccess::read);
  const auto publish = [&] {
    shop.facts.publish_users(
        shop.facts.epoch(),
        {.restricted = {{"default", access}}, .default_needs_no_password = true});
  };
  publish();
  EXPECT_TRUE(shop.answers({"GET", "user:500"}));
  shop.guard->adopt(renumbered(shop));
  EXPECT_FALSE(shop.answers({"GET", "user:500"}));
  access.numbering = shop.guard->parts().numbering;
  publish();
  EXPECT_TRUE(shop.answers({"GET", "user:500"}));
}

TEST(GuardReload, policy_and_absent_replies_are_those_of_the_new_parts) {
  GuardedShop shop;
  EXPECT_EQ(shop.decide({"GET", "item:plum"}).reply, kStar);
  std::vector<GuardedNamespace> next = shop.spaces;
  next[GuardedShop::kItems].absent_reply = AbsentReplyBytes({.nil = false, .bytes = "+"});
  next[GuardedShop::kUsers].mode = config::Mode::bypass;
  const Guard::Parts before = shop.guard->parts();
  shop.guard->adopt({.keyspace = before.keyspace,
                     .namespaces = next,
                     .facts = before.facts,
                     .process = before.process,
                     .wall_time = before.wall_time});
  EXPECT_EQ(shop.decide({"GET", "item:plum"}).reply, "$1\r\n+\r\n");
  EXPECT_FALSE(shop.answers({"GET", "user:500"}));
  EXPECT_EQ(shop.count(GuardedShop::kItems, Verdict::absent), 2U) << "it goes on counting";
}

TEST(GuardReload, what_was_found_and_what_waits_goes_on_under_the_new_numbers) {
  Contradictions before(2);
  before.add(0, "checked");
  before.add(0, "waiting");
  before.add(1, "gone");
  before.add(0, "at hand");
  EXPECT_EQ(before.next()->key, "checked");
  before.found(0, Cause::hidden_row);
  Contradictions now(3);
  now.add(2, "new");
  using Heirs = std::vector<std::optional<Contradictions::Heir>>;
  now.take_over(before, Heirs{{{.ns = 2}}, std::nullopt});
  EXPECT_EQ(now.counts(2).of(Cause::hidden_row), 1U);
  EXPECT_EQ(now.counts(2).open, 3U);
  EXPECT_EQ(now.counts(2).dropped, 0U);
  EXPECT_EQ(now.next()->key, "new");
  EXPECT_EQ(now.next(), (Contradictions::Key{.ns = 2, .key = "waiting"}));
  EXPECT_EQ(now.next()->key, "at hand");
  EXPECT_EQ(now.next(), std::nullopt);
}

TEST(GuardReload, what_the_checker_has_at_hand_is_dropped) {
  Contradictions before(1);
  before.add(0, "at hand");
  ASSERT_TRUE(before.next());
  Contradictions now(1);
  now.take_over(before, std::vector<std::optional<Contradictions::Heir>>{{{.ns = 0}}});
  EXPECT_EQ(now.counts(0).open, 0U);
  EXPECT_EQ(now.counts(0).dropped, 1U);
}

TEST(GuardReload, of_a_namespace_with_another_absent_reply_only_what_is_said_of_rows_is_kept) {
  Contradictions before(1);
  for (const Cause cause :
       {Cause::hidden_row, Cause::hidden_value, Cause::late_row, Cause::unknown}) {
    before.add(0, std::to_string(static_cast<int>(cause)));
    ASSERT_TRUE(before.next());
    before.found(0, cause);
  }
  before.add(0, "at hand");
  ASSERT_TRUE(before.next());
  before.add(0, "waiting");
  Contradictions now(1);
  now.take_over(
      before,
      std::vector<std::optional<Contradictions::Heir>>{{{.ns = 0, .forgets_values = true}}});
  const Contradictions::Counts counts = now.counts(0);
  EXPECT_EQ(counts.of(Cause::hidden_row), 1U);
  EXPECT_EQ(counts.of(Cause::late_row), 1U);
  EXPECT_EQ(counts.of(Cause::hidden_value), 0U);
  EXPECT_EQ(counts.of(Cause::unknown), 0U);
  EXPECT_EQ(counts.open, 0U);
  EXPECT_EQ(counts.dropped, 0U);
  EXPECT_EQ(now.next(), std::nullopt);
}

class ToldReloads final : public Reloads {
 public:
  std::optional<ReloadOutcome> outcome(TimePoint since, std::string_view who) override {
    asked_since = since;
    asked_by = who;
    return told;
  }
  ReloadOutcome last() const override { return told.value_or(ReloadOutcome{}); }

  std::optional<ReloadOutcome> told;
  TimePoint asked_since{};
  std::string asked_by;
};

class ReloadCommand : public testing::Test {
 protected:
  ReloadCommand() {
    shop_.process.reloads = &reloads_;
    shop_.process.operators.users = {"default"};
  }

  OwnDecision decide() {
    const std::initializer_list<std::string_view> arguments{"GUARD.RELOAD"};
    return shop_.serve(std::span(arguments.begin(), arguments.size()),
                       {.now = shop_.now, .since = shop_.now - seconds(3), .has_room = true});
  }

  GuardedShop shop_;
  ToldReloads reloads_;
};

TEST_F(ReloadCommand, waits_for_a_reload_that_began_when_it_had_come) {
  EXPECT_EQ(decide().action, OwnDecision::Action::hold_for_client);
  EXPECT_EQ(reloads_.asked_since, shop_.now - seconds(3));
  EXPECT_EQ(reloads_.asked_by, "user default");
  reloads_.told.emplace();
  EXPECT_EQ(decide().reply, "+OK\r\n");
  reloads_.told->needs_restart = {"listen", "workers"};
  EXPECT_EQ(decide().reply, "+OK needs a restart: listen, workers\r\n");
  reloads_.told->is_unchanged = true;
  EXPECT_EQ(decide().reply, "+OK no setting has changed; needs a restart: listen, workers\r\n");
  reloads_.told->needs_restart.clear();
  EXPECT_EQ(decide().reply, "+OK no setting has changed\r\n");
}

TEST_F(ReloadCommand, says_what_is_wrong) {
  reloads_.told.emplace();
  reloads_.told->errors = {"f.yaml:1:2: no"};
  EXPECT_EQ(decide().reply,
            "-ERR reload failed, the previous configuration stays active: f.yaml:1:2: no\r\n");
  reloads_.told->errors = {"f.yaml:1:2: the first\nof its lines", "b", "c"};
  EXPECT_EQ(decide().reply,
            "-ERR reload failed, the previous configuration stays active: f.yaml:1:2: the first; "
            "b; c\r\n");
  reloads_.told->errors.insert(reloads_.told->errors.end(), {"d", "e"});
  EXPECT_EQ(decide().reply,
            "-ERR reload failed, the previous configuration stays active: f.yaml:1:2: the first; "
            "b; c (and 2 more: see the log)\r\n");
}

TEST_F(ReloadCommand, is_for_operators) {
  shop_.process.operators.users.clear();
  EXPECT_THAT(std::string(decide().reply), StartsWith("-NOPERM "));
  EXPECT_EQ(reloads_.asked_by, "");
}

}  // namespace
}  // namespace cuckooguard::guard
