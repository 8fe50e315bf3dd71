// What is known of Redis decides what is answered: its commands, its users, its state.
#include <string>

#include <gtest/gtest.h>

#include "guarded_shop.h"

namespace cuckooguard::guard {
namespace {

class GuardFacts : public testing::Test {
 protected:
  GuardFacts() {
    facts().set_on_doubt([this](redis::Facts::Urgency /*urgency*/) { ++doubts_; });
  }
  redis::Facts& facts() { return shop_.facts; }
  void publish(redis::Reading reading) {
    reading.users = {.unrestricted = {"default"}, .default_needs_no_password = true};
    ASSERT_TRUE(facts().publish(facts().epoch(), std::move(reading)));
  }
  bool answers() { return shop_.answers({"GET", "user:777"}); }

  GuardedShop shop_;
  int doubts_ = 0;
};

TEST_F(GuardFacts, a_command_that_redis_does_not_list_is_forwarded_and_its_arguments_are_learned) {
  auto commands = std::make_shared<redis::Commands>();
  commands->listed.reset(redis::command_index(redis::find_command("get")));
  commands->listed.reset(redis::command_index(redis::find_command("type")));
  publish({.commands = commands});
  EXPECT_FALSE(answers());
  EXPECT_TRUE(shop_.answers({"MGET", "user:778"}));
  shop_.decide({"TYPE", "user:778"});  // a write may have been renamed to it
  EXPECT_FALSE(shop_.answers({"MGET", "user:778"}));
}

TEST_F(GuardFacts, of_a_learned_command_only_the_keys_that_it_writes_are_learned) {
  auto commands = std::make_shared<redis::Commands>();
  commands->learned["bf.add"] = {
      .role = redis::Role::write, .keys = redis::KeyShape::range, .first = 1, .last = 1, .step = 1};
  commands->learned["bf.exists"] = {.role = redis::Role::read};
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
  redis::UserAccess access;
  access.on_writable[redis::command_index(redis::find_command("get"))] = true;
  access.namespaces = {redis::KeyAccess::read_write,
                       redis::KeyAccess::read,
                       redis::KeyAccess::none,
                       redis::KeyAccess::none};
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
  for (const auto state : {redis::Availability::loading,
                           redis::Availability::master_link_down,
                           redis::Availability::busy}) {
    publish({.availability = state});
    EXPECT_FALSE(answers());
    publish({});
    EXPECT_TRUE(answers());
  }
}

TEST_F(GuardFacts,
       an_error_that_redis_does_not_serve_is_believed_for_its_client_until_redis_is_asked) {
  const std::uint64_t running = facts().epoch();
  shop_.guard->note_error("-BUSY x", shop_.client);
  EXPECT_FALSE(answers());
  Client good;
  std::swap(good, shop_.client);
  EXPECT_TRUE(answers()) << "any client's script may say so";
  std::swap(good, shop_.client);
  facts().publish_users(running, {.unrestricted = {"default"}, .default_needs_no_password = true});
  EXPECT_FALSE(answers()) << "asked before the error";
  publish({});
  EXPECT_TRUE(answers());
  shop_.guard->note_error("-ERR x", shop_.client);
  EXPECT_TRUE(answers());
}

TEST_F(GuardFacts, what_could_not_be_asked_anew_in_time_is_believed_no_more) {
  publish({.good_until = shop_.now + redis::Facts::kKnownFor});
  EXPECT_TRUE(answers());
  shop_.now += redis::Facts::kKnownFor - std::chrono::nanoseconds(1);
  EXPECT_TRUE(answers());
  shop_.now += std::chrono::nanoseconds(1);
  shop_.filters[GuardedShop::kUsers]->set_fresh_until(shop_.now + seconds(5));
  EXPECT_FALSE(answers());
  facts().lost();
  EXPECT_TRUE(answers()) << "it is down: nobody has changed it";
  facts().lost({.is_up = true});
  EXPECT_FALSE(answers());
}

TEST_F(GuardFacts, a_lost_redis_is_answered_for_only_to_those_who_cannot_reach_it_either) {
  facts().lost();
  EXPECT_TRUE(answers());
  shop_.client.upstream_is_up();
  EXPECT_FALSE(answers());
  publish({});
  EXPECT_TRUE(answers());
}

// Its own later reads wait for the reply; others' may still have come before it.
TEST_F(GuardFacts, a_change_for_all_counts_from_redis_yes_until_it_was_asked_for_thereafter) {
  const std::initializer_list<std::string_view> changes[] = {
      {"ACL", "SETUSER", "x"},
      {"acl", "deluser", "x"},
      {"ACL", "LOAD"},
      {"ACL", "OF-A-NEWER-SERVER"},
      {"CONFIG", "SET", "maxmemory", "1", "RequirePass", "x"},
      {"CONFIG", "SET", "acl-pubsub-default", "x"},
      {"CLIENT", "PAUSE", "10"},
      {"CLIENT", "PAUSE", "10", "all"}};
  for (const auto& change : changes) {
    const redis::StateChange sent = shop_.send(change);
    EXPECT_TRUE(sent.for_all_clients);
    EXPECT_FALSE(answers()) << *change.begin();
    Client other;
    std::swap(other, shop_.client);
    EXPECT_TRUE(answers()) << "nobody has heard that it is in force";
    std::swap(other, shop_.client);
    const int before = doubts_;
    shop_.client.replied(sent, '+');
    EXPECT_EQ(doubts_, before + 1);
    EXPECT_FALSE(answers()) << "not asked yet";
    publish({});
    EXPECT_TRUE(answers());
  }
}

TEST_F(GuardFacts, what_redis_refuses_changes_nothing_but_is_asked_about) {
  for (const char refusal : {'-', '!'}) {
    for (int i = 0; i < 100; ++i) {
      shop_.send({"ACL", "X"}, refusal);
      ASSERT_TRUE(answers());
      shop_.send({"CONFIG", "SET", "requirepass", "x", "no-such", "x"}, refusal);
      ASSERT_TRUE(answers());
    }
  }
  EXPECT_EQ(doubts_, 1);
}

TEST_F(GuardFacts, questions_are_no_change_for_all) {
  const std::initializer_list<std::string_view> questions[] = {
      {"ACL", "WHOAMI"},
      {"ACL", "GETUSER", "x"},
      {"CONFIG", "GET", "x"},
      {"CLIENT", "PAUSE", "10", "WRITE"},
      {"CLIENT", "UNPAUSE"},
      {"CONFIG", "SET", "maxmemory", "1"},
      {"CONFIG", "SET", "x", "requirepass"},
      {"CONFIG", "RESETSTAT"},
      {"CONFIG", "REWRITE"},
      {"ACL"}};
  for (const auto& question : questions) {
    EXPECT_EQ(shop_.decide(question).change, nullptr) << *question.begin();
    EXPECT_TRUE(answers());
  }
}

TEST_F(GuardFacts, a_change_queued_in_multi_is_one_when_it_is_executed) {
  shop_.send({"MULTI"}, '+');
  shop_.send({"ACL", "SETUSER", "x"}, '+');
  EXPECT_FALSE(facts().snapshot()->users->unrestricted.empty()) << "queued";
  const redis::StateChange exec = shop_.send({"EXEC"});
  EXPECT_FALSE(facts().snapshot()->users->unrestricted.empty());
  shop_.client.replied(exec, '*');
  EXPECT_TRUE(facts().snapshot()->users->unrestricted.empty());
  publish({});
  EXPECT_TRUE(answers());
  shop_.send({"MULTI"}, '+');
  shop_.send({"EXEC"}, '*');
  EXPECT_TRUE(answers()) << "the next transaction is another one";
}

TEST_F(GuardFacts, a_change_that_is_refused_in_multi_or_discarded_is_none) {
  shop_.send({"MULTI"}, '+');
  shop_.send({"ACL", "SETUSER", "x"}, '-');
  shop_.send({"EXEC"}, '*');  // as EXECABORT is told
  EXPECT_TRUE(answers());
  shop_.send({"MULTI"}, '+');
  shop_.send({"ACL", "SETUSER", "x"}, '+');
  shop_.send({"DISCARD"}, '+');
  EXPECT_TRUE(answers());
  shop_.send({"MULTI"}, '+');
  shop_.send({"EXEC"}, '*');
  EXPECT_TRUE(answers());
}

TEST_F(GuardFacts, a_change_whose_yes_may_be_in_what_passes_unread_counts_from_then_on) {
  const auto is_withdrawn = [this] { return facts().snapshot()->users->unrestricted.empty(); };
  const auto change_unread = [this] {
    shop_.client = Client();
    shop_.client.stop_reading_replies();
    shop_.decide({"ACL", "SETUSER", "x"});
  };
  change_unread();
  EXPECT_FALSE(is_withdrawn()) << "nobody has heard that it is in force";
  shop_.guard->relayed(shop_.client);
  EXPECT_TRUE(is_withdrawn());
  change_unread();  // nobody is known just now
  publish({});
  shop_.guard->relayed(shop_.client);
  EXPECT_TRUE(is_withdrawn()) << "it was known before";
  for (std::uint64_t i = 0; i < redis::Facts::kUnseenAskings; ++i) {
    publish({});
  }
  shop_.guard->relayed(shop_.client);
  EXPECT_FALSE(is_withdrawn()) << "it has long been said";
}

TEST_F(GuardFacts, what_passes_unread_to_who_may_not_do_everything_is_no_yes) {
  facts().publish_users(facts().epoch(),
                        {.unrestricted = {"admin"},
                         .restricted = {{"default", {}}},
                         .default_needs_no_password = true});
  shop_.client.stop_reading_replies();
  shop_.decide({"ACL", "SETUSER", "x"});
  shop_.guard->relayed(shop_.client);
  EXPECT_FALSE(facts().snapshot()->users->unrestricted.empty());
}

TEST_F(GuardFacts, a_change_whose_reply_is_never_seen_is_asked_about_and_holds_nobody_back) {
  shop_.send({"ACL", "SETUSER", "x"});
  publish({});
  shop_.client.ended();
  shop_.client.ended();
  EXPECT_EQ(doubts_, 1);
  shop_.client = Client();
  EXPECT_TRUE(answers());
  publish({});
  shop_.decide({"CLIENT", "REPLY", "OFF"});
  shop_.decide({"ACL", "SETUSER", "x"});
  EXPECT_EQ(doubts_, 2);
  shop_.client = Client();
  EXPECT_TRUE(answers());
}

TEST_F(GuardFacts, a_change_where_replies_are_unread_is_asked_about) {
  shop_.guard->stop_reading_replies(shop_.client, shop_.now);
  shop_.decide({"ACL", "WHOAMI"});
  EXPECT_EQ(doubts_, 0);
  shop_.decide({"ACL", "SETUSER", "x"});
  EXPECT_EQ(doubts_, 1);
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
