#include "redis/facts.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "redis/client_state.h"

namespace cuckooguard::redis {
namespace {

class FactsTest : public testing::Test {
 protected:
  FactsTest() {
    facts_.set_on_doubt([this](Facts::Urgency urgency) {
      ++doubts_;
      urgency_ = urgency;
    });
  }
  bool publish(Users users) { return facts_.publish_users(facts_.epoch(), std::move(users)); }
  bool knows(std::string_view name) const {
    return facts_.snapshot()->users->find(name) != nullptr;
  }
  Availability availability() const { return facts_.snapshot()->availability; }

  Facts facts_;
  int doubts_ = 0;
  Facts::Urgency urgency_ = Facts::Urgency::none;
};

TEST_F(FactsTest, know_nobody_before_anything_was_published) {
  EXPECT_NE(facts_.version(), 0U);
  EXPECT_EQ(facts_.version(), facts_.snapshot()->version);
  EXPECT_FALSE(knows("default"));
  EXPECT_FALSE(facts_.snapshot()->users->default_needs_no_password);
  EXPECT_TRUE(facts_.snapshot()->commands->listed.all());
}

TEST_F(FactsTest, know_those_who_were_published_last) {
  EXPECT_TRUE(publish({.unrestricted = {"alice"}}));
  EXPECT_TRUE(knows("alice"));
  EXPECT_FALSE(knows("Alice"));
  EXPECT_FALSE(knows(""));
  EXPECT_TRUE(publish({.unrestricted = {"bob"}, .restricted = {{"carol", {}}}}));
  EXPECT_FALSE(knows("alice"));
  EXPECT_TRUE(knows("bob"));
  EXPECT_FALSE(facts_.snapshot()->users->find("carol")->is_unrestricted);
  facts_.withdraw_users();
  EXPECT_FALSE(knows("bob"));
}

TEST_F(FactsTest, everybody_may_do_everything_only_where_that_is_trusted) {
  publish({.trusts_everyone = true});
  EXPECT_TRUE(facts_.snapshot()->users->find("anybody")->may(0, 7));
}

TEST_F(FactsTest, a_restricted_user_may_what_both_its_commands_and_its_keys_allow) {
  UserAccess user;
  user.on_readable[3] = true;
  user.on_writable[3] = true;
  user.on_writable[4] = true;
  user.namespaces = {KeyAccess::none, KeyAccess::read, KeyAccess::read_write};
  EXPECT_FALSE(user.may(3, 0));
  EXPECT_TRUE(user.may(3, 1));
  EXPECT_FALSE(user.may(4, 1));
  EXPECT_TRUE(user.may(3, 2));
  EXPECT_TRUE(user.may(4, 2));
  EXPECT_FALSE(user.may(5, 2));
  EXPECT_FALSE(user.may(3, 3)) << "no such namespace";
}

TEST_F(FactsTest, every_change_has_a_new_version) {
  std::uint64_t version = facts_.version();
  const auto is_new = [&] {
    const bool differs = version != facts_.version();
    version = facts_.version();
    return differs;
  };
  publish({});
  EXPECT_TRUE(is_new());
  facts_.withdraw_users();
  EXPECT_TRUE(is_new());
  facts_.lost();
  EXPECT_TRUE(is_new());
}

TEST_F(FactsTest, what_was_asked_before_redis_said_yes_to_a_change_is_not_published) {
  publish({.unrestricted = {"alice"}});
  const std::uint64_t before = facts_.epoch();
  facts_.withdraw_users();
  EXPECT_EQ(doubts_, 1);
  EXPECT_EQ(urgency_, Facts::Urgency::at_once);
  EXPECT_FALSE(knows("alice"));
  EXPECT_FALSE(facts_.publish_users(before, {.unrestricted = {"alice"}}));
  EXPECT_FALSE(knows("alice"));
  EXPECT_TRUE(publish({.unrestricted = {"alice"}}));
  EXPECT_TRUE(knows("alice"));
}

// Whoever has asked Redis before, and was let in, is to ask again.
TEST_F(FactsTest, an_asking_that_finds_that_a_login_is_needed_by_now_is_a_withdrawal) {
  facts_.publish_users(facts_.epoch(), {.default_needs_no_password = false});
  EXPECT_EQ(facts_.withdrawals(), 0);
  for (std::uint64_t i = 0; i < 3; ++i) {
    facts_.publish_users(facts_.epoch(), {.default_needs_no_password = true});
    facts_.publish_users(facts_.epoch(), {.default_needs_no_password = true});
    EXPECT_EQ(facts_.withdrawals(), i);
    facts_.publish_users(facts_.epoch(), {.default_needs_no_password = false});
    facts_.publish_users(facts_.epoch(), {.default_needs_no_password = false});
    EXPECT_EQ(facts_.withdrawals(), i + 1);
  }
}

TEST_F(FactsTest, doubts_take_nothing_back_and_lead_to_one_asking_all_together) {
  publish({.unrestricted = {"alice"}});
  const std::uint64_t version = facts_.version();
  const std::uint64_t running = facts_.epoch();
  for (int i = 0; i < 1000; ++i) {
    facts_.doubt();
    facts_.note_error("-BUSY x");
    facts_.ask_for("user" + std::to_string(i));
  }
  EXPECT_EQ(doubts_, 1);
  EXPECT_EQ(urgency_, Facts::Urgency::soon);
  EXPECT_EQ(facts_.version(), version);
  EXPECT_TRUE(knows("alice"));
  EXPECT_EQ(availability(), Availability::available);
  EXPECT_TRUE(facts_.publish_users(running, {.unrestricted = {"alice"}}))
      << "an asking in progress is for the others";
  facts_.epoch();
  facts_.doubt();
  EXPECT_EQ(doubts_, 2) << "what has begun before it does not settle it";
}

TEST_F(FactsTest, a_doubt_does_not_keep_a_change_from_being_asked_for_at_once) {
  facts_.doubt();
  facts_.withdraw_users();
  EXPECT_EQ(doubts_, 2);
  EXPECT_EQ(urgency_, Facts::Urgency::at_once);
}

TEST_F(FactsTest, an_error_says_from_when_on_it_is_known_whether_redis_serves) {
  for (const std::string_view error : {"-LOADING Redis is loading the dataset in memory\r\n",
                                       "-MASTERDOWN Link with MASTER is down",
                                       "-BUSY Redis is busy running a script."}) {
    const std::uint64_t running = facts_.epoch();
    EXPECT_EQ(facts_.note_error(error), running + 1) << error;
  }
  EXPECT_EQ(doubts_, 3);
  for (const std::string_view other :
       {"-ERR x", "-BUSYKEY Target", "-BUSYGROUP ", "-", "", "BUSY "}) {
    EXPECT_EQ(facts_.note_error(other), 0U) << other;
  }
  EXPECT_EQ(doubts_, 3);
}

TEST_F(FactsTest, a_lost_redis_leaves_what_was_known_until_it_is_asked_again) {
  publish({.unrestricted = {"alice"}});
  const std::uint64_t before = facts_.epoch();
  facts_.lost();
  EXPECT_TRUE(facts_.snapshot()->is_lost);
  EXPECT_TRUE(knows("alice"));
  EXPECT_FALSE(facts_.publish_users(before, {}));
  EXPECT_TRUE(publish({}));
  EXPECT_FALSE(facts_.snapshot()->is_lost);
}

TEST_F(FactsTest, users_are_asked_for_once_and_up_to_a_limit) {
  EXPECT_EQ(facts_.users_to_ask(), std::vector<std::string>{"default"});
  const std::uint64_t before = facts_.epoch();
  facts_.ask_for("alice");
  facts_.ask_for("alice");
  facts_.ask_for("default");
  EXPECT_EQ(doubts_, 1);
  EXPECT_EQ(facts_.users_to_ask(), (std::vector<std::string>{"default", "alice"}));
  EXPECT_TRUE(facts_.publish_users(before, {})) << "she was not asked for, but the others were";
  for (std::size_t i = 0; i < 2 * Facts::kUsersToAskMax; ++i) {
    facts_.ask_for("user" + std::to_string(i));
  }
  EXPECT_EQ(facts_.users_to_ask().size(), Facts::kUsersToAskMax + 1);
  EXPECT_FALSE(facts_.asks_for("one more"));
}

TEST_F(FactsTest, users_who_ask_for_nothing_are_not_asked_for_for_ever) {
  facts_.ask_for("alice");
  facts_.ask_for("bob");
  for (std::uint64_t i = 0; i < Facts::kIdleAskings; ++i) {
    facts_.epoch();
    facts_.ask_for("bob");
    ASSERT_TRUE(facts_.asks_for("alice")) << i;
  }
  const int before = doubts_;
  facts_.epoch();
  EXPECT_EQ(facts_.users_to_ask(), (std::vector<std::string>{"default", "bob"}));
  facts_.ask_for("alice");
  EXPECT_EQ(doubts_, before + 1);
}

TEST_F(FactsTest, users_whose_last_client_has_left_are_asked_for_once_more_at_most) {
  EXPECT_TRUE(facts_.ask_for("alice"));
  EXPECT_TRUE(facts_.ask_for("alice"));
  EXPECT_TRUE(facts_.ask_for("alice", true));
  facts_.leave("alice");
  for (std::uint64_t i = 0; i < Facts::kIdleAskings; ++i) {
    facts_.epoch();
    ASSERT_TRUE(facts_.asks_for("alice")) << "one is left: " << i;
  }
  EXPECT_TRUE(facts_.ask_for("alice", true));
  facts_.leave("alice");
  facts_.epoch();
  EXPECT_TRUE(facts_.asks_for("alice")) << "she has been here since the last asking";
  facts_.epoch();
  EXPECT_EQ(facts_.users_to_ask(), std::vector<std::string>{"default"});
}

TEST_F(FactsTest, users_who_are_listed_are_asked_for_without_a_client) {
  publish({.are_listed = true});
  facts_.ask_for("alice");
  facts_.leave("alice");
  for (std::uint64_t i = 0; i < Facts::kIdleAskings; ++i) {
    publish({.are_listed = true});
    ASSERT_TRUE(facts_.asks_for("alice")) << i;
  }
  publish({.are_listed = true});
  EXPECT_FALSE(facts_.asks_for("alice"));
}

// Those of connected users who ask for nothing are not among kUsersToAskMax.
TEST_F(FactsTest, users_who_ask_again_are_counted_once_and_have_no_place_before) {
  facts_.ask_for("alice");
  for (std::uint64_t i = 0; i <= Facts::kIdleAskings; ++i) {
    facts_.epoch();
  }
  EXPECT_FALSE(facts_.asks_for("alice"));
  for (std::size_t i = 0; i < Facts::kUsersToAskMax; ++i) {
    facts_.ask_for("user" + std::to_string(i));
  }
  EXPECT_TRUE(facts_.ask_for("alice", true)) << "she is still counted";
  EXPECT_FALSE(facts_.asks_for("alice"));
  facts_.leave("alice");
  facts_.leave("user7");
  facts_.epoch();
  facts_.epoch();
  EXPECT_TRUE(facts_.ask_for("alice"));
  EXPECT_TRUE(facts_.asks_for("alice"));
}

TEST_F(FactsTest, what_was_known_of_a_redis_that_is_down_holds_and_of_one_that_is_up_it_does_not) {
  const TimePoint then(std::chrono::seconds(5));
  facts_.publish(facts_.epoch(), {.users = {.unrestricted = {"alice"}}, .good_until = then});
  EXPECT_EQ(facts_.snapshot()->good_until, then);
  facts_.lost({.why = "refused"});
  EXPECT_EQ(facts_.snapshot()->good_until, TimePoint::max());
  EXPECT_EQ(facts_.snapshot()->why_lost, "refused");
  facts_.lost({.why = "no reply", .is_up = true});
  EXPECT_EQ(facts_.snapshot()->good_until, TimePoint::min());
}

TEST_F(FactsTest, commands_stand_until_others_are_learned) {
  auto commands = std::make_shared<Commands>();
  commands->listed.reset(5);
  commands->learned["bf.exists"] = {.name = {}, .role = Role::read};
  facts_.publish(facts_.epoch(), {.commands = commands});
  publish({});
  const Commands& known = *facts_.snapshot()->commands;
  EXPECT_FALSE(known.listed[5]);
  EXPECT_EQ(known.find_learned("BF.Exists")->role, Role::read);
  EXPECT_EQ(known.find_learned("bf.exist"), nullptr);
  EXPECT_EQ(known.find_learned(std::string(100'000, 'x')), nullptr);
}

// What a reader keeps by version never outlives the change that ended it. Run it under tsan.
TEST(FactsRace, what_is_published_counts_for_every_question_that_begins_after_it) {
  Facts facts;
  std::atomic<int> phase{0};  // modulo 4: 1 allowed, 3 withdrawn, between them on the way
  std::atomic<bool> done{false};
  const auto ask = [&] {
    ClientState client;
    std::shared_ptr<const Snapshot> snapshot = facts.snapshot();
    while (!done.load()) {
      const int before = phase.load();
      if (facts.version() != snapshot->version) {
        snapshot = facts.snapshot();
      }
      const bool answer = client.access(*snapshot, facts) != nullptr;
      if (before == phase.load() && before % 2 == 1) {
        EXPECT_EQ(answer, before % 4 == 1);
      }
    }
  };
  std::jthread first(ask);
  std::jthread second(ask);
  for (int turn = 0; turn < 10'000; ++turn) {
    facts.publish_users(facts.epoch(),
                        {.unrestricted = {"default"}, .default_needs_no_password = true});
    phase.fetch_add(1);
    phase.fetch_add(1);
    facts.withdraw_users();
    phase.fetch_add(1);
    phase.fetch_add(1);
  }
  done.store(true);
}

// One asks and publishes without a pause; others change Redis. `redis` stands for what Redis says.
TEST(FactsRace, an_asking_is_never_published_over_a_change_that_it_did_not_see) {
  Facts facts;
  std::atomic<int> redis{0};
  std::atomic<bool> done{false};
  std::jthread control([&] {
    while (!done.load()) {
      const std::uint64_t epoch = facts.epoch();
      facts.publish_users(epoch, {.unrestricted = {std::to_string(redis.load())}});
    }
  });
  for (int turn = 0; turn < 20'000; ++turn) {
    redis.fetch_add(1);
    facts.withdraw_users();
    const auto users = facts.snapshot()->users;
    EXPECT_TRUE(users->unrestricted.empty() ||
                users->unrestricted.contains(std::to_string(redis.load())))
        << *users->unrestricted.begin() << " instead of " << redis.load();
  }
  done.store(true);
}

}  // namespace
}  // namespace cuckooguard::redis
