#include "guard/redis_facts.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "guard/client_state.h"

namespace cuckooguard::guard {
namespace {

class RedisFactsTest : public testing::Test {
 protected:
  RedisFactsTest() {
    facts_.set_on_doubt([this] { ++doubts_; });
  }
  bool publish(Users users) { return facts_.publish_users(facts_.epoch(), std::move(users)); }
  bool knows(std::string_view name) const {
    return facts_.snapshot()->users->find(name) != nullptr;
  }
  Availability availability() const { return facts_.snapshot()->availability; }

  RedisFacts facts_;
  int doubts_ = 0;
};

TEST_F(RedisFactsTest, know_nobody_before_anything_was_published) {
  EXPECT_NE(facts_.version(), 0U);
  EXPECT_EQ(facts_.version(), facts_.snapshot()->version);
  EXPECT_FALSE(knows("default"));
  EXPECT_FALSE(facts_.snapshot()->users->default_needs_no_password);
  EXPECT_TRUE(facts_.snapshot()->commands->listed.all());
}

TEST_F(RedisFactsTest, know_those_who_were_published_last) {
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

TEST_F(RedisFactsTest, everybody_may_do_everything_only_where_that_is_trusted) {
  publish({.trusts_everyone = true});
  EXPECT_TRUE(facts_.snapshot()->users->find("anybody")->may(0, 7));
}

TEST_F(RedisFactsTest, a_restricted_user_may_what_both_its_commands_and_its_keys_allow) {
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

TEST_F(RedisFactsTest, every_change_has_a_new_version) {
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
  facts_.note_error("-BUSY Redis is");
  EXPECT_TRUE(is_new());
  facts_.note_error("-ERR no such");
  EXPECT_FALSE(is_new());
  facts_.change_sent();
  EXPECT_TRUE(is_new());
}

TEST_F(RedisFactsTest, what_was_asked_before_or_during_a_change_for_all_is_not_published) {
  publish({.unrestricted = {"alice"}});
  const std::uint64_t before = facts_.epoch();
  facts_.change_sent();
  EXPECT_FALSE(knows("alice")) << "withdrawn as it is sent";
  EXPECT_FALSE(facts_.publish_users(before, {.unrestricted = {"alice"}}));
  const std::uint64_t during = facts_.epoch();
  EXPECT_FALSE(facts_.publish_users(during, {.unrestricted = {"alice"}}));
  EXPECT_EQ(doubts_, 0);
  facts_.change_replied();
  EXPECT_EQ(doubts_, 1) << "to be asked again, now that Redis has run it";
  EXPECT_FALSE(facts_.publish_users(during, {.unrestricted = {"alice"}}));
  EXPECT_FALSE(knows("alice"));
  EXPECT_TRUE(publish({.unrestricted = {"alice"}}));
  EXPECT_TRUE(knows("alice"));
}

TEST_F(RedisFactsTest, of_two_changes_at_once_the_later_reply_counts) {
  facts_.change_sent();
  facts_.change_sent();
  facts_.change_replied();
  EXPECT_FALSE(publish({.unrestricted = {"alice"}}));
  facts_.change_replied();
  EXPECT_TRUE(publish({.unrestricted = {"alice"}}));
}

TEST_F(RedisFactsTest, errors_of_redis_say_that_it_does_not_serve) {
  facts_.note_error("-LOADING Redis is loading the dataset in memory\r\n");
  EXPECT_EQ(availability(), Availability::loading);
  EXPECT_EQ(doubts_, 1);
  facts_.note_error("-LOADING Redis is");
  EXPECT_EQ(doubts_, 1) << "known already";
  facts_.note_error("-MASTERDOWN Link with MASTER is down");
  EXPECT_EQ(availability(), Availability::master_link_down);
  facts_.note_error("-BUSY Redis is busy running a script.");
  EXPECT_EQ(availability(), Availability::busy);
  for (const std::string_view other :
       {"-ERR x", "-BUSYKEY Target", "-BUSYGROUP ", "-", "", "BUSY "}) {
    facts_.note_error(other);
  }
  EXPECT_EQ(availability(), Availability::busy);
  EXPECT_EQ(doubts_, 3);
}

TEST_F(RedisFactsTest, only_what_was_asked_after_an_error_says_that_it_is_over) {
  const std::uint64_t before = facts_.epoch();
  facts_.note_error("-BUSY Redis is busy");
  EXPECT_FALSE(facts_.publish(before, {}));
  EXPECT_EQ(availability(), Availability::busy);
  EXPECT_TRUE(facts_.publish(facts_.epoch(), {}));
  EXPECT_EQ(availability(), Availability::available);
}

TEST_F(RedisFactsTest, a_lost_redis_leaves_what_was_known_until_it_is_asked_again) {
  publish({.unrestricted = {"alice"}});
  const std::uint64_t before = facts_.epoch();
  facts_.lost();
  EXPECT_TRUE(facts_.snapshot()->is_lost);
  EXPECT_TRUE(knows("alice"));
  EXPECT_FALSE(facts_.publish_users(before, {}));
  EXPECT_TRUE(publish({}));
  EXPECT_FALSE(facts_.snapshot()->is_lost);
}

TEST_F(RedisFactsTest, users_are_asked_for_once_and_up_to_a_limit) {
  EXPECT_EQ(facts_.users_to_ask(), std::vector<std::string>{"default"});
  const std::uint64_t before = facts_.epoch();
  facts_.ask_for("alice");
  facts_.ask_for("alice");
  facts_.ask_for("default");
  EXPECT_EQ(doubts_, 1);
  EXPECT_EQ(facts_.users_to_ask(), (std::vector<std::string>{"default", "alice"}));
  EXPECT_FALSE(facts_.publish_users(before, {})) << "she was not asked for";
  for (std::size_t i = 0; i < 2 * RedisFacts::kUsersToAskMax; ++i) {
    facts_.ask_for("user" + std::to_string(i));
  }
  EXPECT_EQ(facts_.users_to_ask().size(), RedisFacts::kUsersToAskMax + 1);
}

TEST_F(RedisFactsTest, commands_stand_until_others_are_learned) {
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
TEST(RedisFactsRace, what_is_published_counts_for_every_question_that_begins_after_it) {
  RedisFacts facts;
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
    facts.change_sent();
    phase.fetch_add(1);
    facts.change_replied();
    phase.fetch_add(1);
  }
  done.store(true);
}

// One asks and publishes without a pause; others change Redis. `redis` stands for what Redis says.
TEST(RedisFactsRace, an_asking_is_never_published_over_a_change_that_it_did_not_see) {
  RedisFacts facts;
  std::atomic<int> redis{0};
  std::atomic<bool> done{false};
  std::jthread control([&] {
    while (!done.load()) {
      const std::uint64_t epoch = facts.epoch();
      facts.publish_users(epoch, {.unrestricted = {std::to_string(redis.load())}});
    }
  });
  for (int turn = 0; turn < 20'000; ++turn) {
    facts.change_sent();
    redis.fetch_add(1);
    facts.change_replied();
    const auto users = facts.snapshot()->users;
    EXPECT_TRUE(users->unrestricted.empty() ||
                users->unrestricted.contains(std::to_string(redis.load())))
        << *users->unrestricted.begin() << " instead of " << redis.load();
  }
  done.store(true);
}

}  // namespace
}  // namespace cuckooguard::guard
