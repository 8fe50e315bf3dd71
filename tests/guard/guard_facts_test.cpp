// What is known of Redis decides what is answered: its commands, its users, its state.
#include <string>

#include <gtest/gtest.h>

#include "guarded_shop.h"

namespace cuckooguard::guard {
namespace {

class GuardFacts : public testing::Test {
 protected:
  GuardFacts() {
    facts().set_on_doubt([this] { ++doubts_; });
  }
  RedisFacts& facts() { return shop_.facts; }
  void publish(Reading reading) {
    reading.users = {.unrestricted = {"default"}, .default_needs_no_password = true};
    ASSERT_TRUE(facts().publish(facts().epoch(), std::move(reading)));
  }
  bool answers() { return shop_.answers({"GET", "user:777"}); }

  GuardedShop shop_;
  int doubts_ = 0;
};

TEST_F(GuardFacts, a_command_that_redis_does_not_list_is_forwarded_and_its_arguments_are_learned) {
  auto commands = std::make_shared<Commands>();
  commands->listed.reset(command_index(find_command("get")));
  commands->listed.reset(command_index(find_command("type")));
  publish({.commands = commands});
  EXPECT_FALSE(answers());
  EXPECT_TRUE(shop_.answers({"MGET", "user:778"}));
  shop_.decide({"TYPE", "user:778"});  // a write may have been renamed to it
  EXPECT_FALSE(shop_.answers({"MGET", "user:778"}));
}

TEST_F(GuardFacts, of_a_learned_command_only_the_keys_that_it_writes_are_learned) {
  auto commands = std::make_shared<Commands>();
  commands->learned["bf.add"] = {
      .role = Role::write, .keys = KeyShape::range, .first = 1, .last = 1, .step = 1};
  commands->learned["bf.exists"] = {.role = Role::read};
  publish({.commands = commands});
  shop_.decide({"BF.ADD", "user:777", "user:778"});
  shop_.decide({"bf.exists", "user:779"});
  EXPECT_FALSE(answers());
  EXPECT_TRUE(shop_.answers({"GET", "user:778"}));
  EXPECT_TRUE(shop_.answers({"GET", "user:779"}));
  shop_.decide({"BF.OTHER", "x", "user:779"});
  EXPECT_FALSE(shop_.answers({"GET", "user:779"})) << "not known at all: any argument";
}

TEST_F(GuardFacts, a_restricted_user_is_answered_for_its_commands_on_its_namespaces) {
  UserAccess access;
  access.on_writable[command_index(find_command("get"))] = true;
  access.namespaces = {KeyAccess::read_write, KeyAccess::read, KeyAccess::none, KeyAccess::none};
  facts().publish_users(facts().epoch(),
                        {.restricted = {{"default", access}}, .default_needs_no_password = true});
  EXPECT_TRUE(answers());
  EXPECT_FALSE(shop_.answers({"EXISTS", "user:777"})) << "not this command";
  EXPECT_FALSE(shop_.answers({"GET", "item:none"})) << "not on keys that it may only read";
  EXPECT_FALSE(shop_.answers({"GET", "order:777"}));
  EXPECT_EQ(shop_.count(GuardedShop::kOrders, Verdict::not_allowed), 1U);
  EXPECT_EQ(shop_.decide({"MGET", "user:777", "order:777"}).action, Action::forward);
}

TEST_F(GuardFacts, nothing_is_answered_while_redis_does_not_serve) {
  for (const char* const error : {"-LOADING x", "-MASTERDOWN x", "-BUSY x"}) {
    facts().note_error(error);
    EXPECT_FALSE(answers()) << error;
    publish({});
    EXPECT_TRUE(answers()) << error;
  }
}

TEST_F(GuardFacts, a_lost_redis_is_answered_for_only_to_those_who_cannot_reach_it_either) {
  facts().lost();
  EXPECT_TRUE(answers());
  shop_.client.upstream_is_up();
  EXPECT_FALSE(answers());
  publish({});
  EXPECT_TRUE(answers());
}

TEST_F(GuardFacts, a_change_for_all_withdraws_everybody_until_it_was_asked_for_after_its_reply) {
  const std::initializer_list<std::string_view> changes[] = {{"ACL", "SETUSER", "x"},
                                                             {"acl", "deluser", "x"},
                                                             {"ACL", "LOAD"},
                                                             {"CONFIG", "SET", "requirepass", "x"},
                                                             {"CLIENT", "PAUSE", "10"},
                                                             {"CLIENT", "PAUSE", "10", "all"}};
  for (const auto& change : changes) {
    const StateChange sent = shop_.send(change);
    EXPECT_TRUE(sent.for_all_clients);
    EXPECT_FALSE(answers()) << *change.begin();
    const int before = doubts_;
    shop_.client.replied(sent, '+');
    EXPECT_EQ(doubts_, before + 1);
    EXPECT_FALSE(answers()) << "not asked yet";
    publish({});
    EXPECT_TRUE(answers());
  }
}

TEST_F(GuardFacts, questions_are_no_change_for_all) {
  const std::initializer_list<std::string_view> questions[] = {{"ACL", "WHOAMI"},
                                                               {"ACL", "GETUSER", "x"},
                                                               {"CONFIG", "GET", "x"},
                                                               {"CLIENT", "PAUSE", "10", "WRITE"},
                                                               {"CLIENT", "UNPAUSE"},
                                                               {"ACL"}};
  for (const auto& question : questions) {
    EXPECT_EQ(shop_.decide(question).change, nullptr) << *question.begin();
    EXPECT_TRUE(answers());
  }
}

TEST_F(GuardFacts, a_change_queued_in_multi_is_one_again_when_it_is_executed) {
  shop_.send({"MULTI"}, '+');
  shop_.send({"ACL", "SETUSER", "x"}, '+');
  publish({});
  const StateChange exec = shop_.send({"EXEC"});
  EXPECT_TRUE(exec.for_all_clients);
  EXPECT_TRUE(facts().snapshot()->users->unrestricted.empty());
  shop_.client.replied(exec, '*');
  publish({});
  EXPECT_TRUE(answers());
}

TEST_F(GuardFacts, a_connection_that_ends_before_the_reply_holds_nobody_back) {
  shop_.send({"ACL", "SETUSER", "x"});
  EXPECT_FALSE(facts().publish(facts().epoch(), {}));
  shop_.client.ended();
  shop_.client.ended();
  EXPECT_EQ(doubts_, 1);
  shop_.client = ClientState();
  publish({});
  EXPECT_TRUE(answers());
}

TEST_F(GuardFacts, a_user_of_whom_nothing_is_known_is_asked_for) {
  shop_.send({"AUTH", "alice", "x"}, '+');
  EXPECT_FALSE(answers());
  EXPECT_EQ(facts().users_to_ask().back(), "alice");
  facts().publish_users(facts().epoch(), {.unrestricted = {"alice"}});
  EXPECT_TRUE(answers());
}

}  // namespace
}  // namespace cuckooguard::guard
