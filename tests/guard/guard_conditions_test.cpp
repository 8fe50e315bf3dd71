// Every condition under which the guard may answer, taken away one at a time: each test of this
// file fails if the condition it is named after is no longer asked for.

#include <algorithm>
#include <array>
#include <functional>
#include <ostream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "guard/guarded_shop.h"

namespace cuckooguard::guard {
namespace {

constexpr redis::PubSubFrame kOneChannel{
    redis::PubSubFrame::Kind::confirmation, redis::ChannelKind::plain, 1};

using Break = std::function<void(GuardedShop&)>;

struct Condition {
  std::string name;
  Break take_away;
  std::vector<std::string_view> command{};
};

void PrintTo(const Condition& condition, std::ostream* out) {
  *out << condition.name;
}

class GuardConditions : public testing::TestWithParam<Condition> {
 protected:
  GuardedShop shop_;
};

TEST_P(GuardConditions, a_command_is_answered_only_while_this_condition_holds) {
  ASSERT_TRUE(shop_.answers(GetParam().command)) << "with all conditions";
  GetParam().take_away(shop_);
  const Decision decision = shop_.decide(GetParam().command);
  EXPECT_EQ(decision.action, Action::forward) << "without this condition";
  EXPECT_EQ(decision.reply, "");
  EXPECT_EQ(decision.request, "");
}

// The same conditions, for each way in which a key can be taken out of a command.
const Condition kConditionsOfAllKeys[] = {
    {"mode_is_enforce", [](auto& s) { s.spaces[0].mode = config::Mode::observe; }},
    {"mode_is_not_bypass", [](auto& s) { s.spaces[0].mode = config::Mode::bypass; }},
    {"db_is_the_namespaces", [](auto& s) { s.spaces[0].db = 1; }},
    {"client_is_in_that_db", [](auto& s) { s.send({"SELECT", "3"}, '+'); }},
    {"filter_is_published", [](auto& s) { s.filters[0]->publish(nullptr); }},
    {"filter_is_fresh", [](auto& s) { s.now += seconds(1); }},
    {"freshness_is_not_withdrawn",
     [](auto& s) { s.filters[0]->set_fresh_until(TimePoint::min()); }},
    {"id_is_not_fresh", [](auto& s) { s.filters[0]->set_growth(495, 10); }},
    {"filter_says_absent",
     [](auto& s) { s.filters[0]->insert(s.filters[0]->current()->hash("500")); }},
    {"overlay_does_not_hold_it",
     [](auto& s) { s.overlays[0]->add(s.parts[0]->hash("500"), s.now); }},
    {"own_write_has_not_just_passed", [](auto& s) { s.decide({"SET", "user:500", "x"}); }},
    {"user_is_unrestricted",
     [](auto& s) { s.facts.publish_users(s.facts.epoch(), {.default_needs_no_password = true}); }},
    {"users_are_known", [](auto& s) { s.facts.withdraw_users(); }},
    {"client_is_authenticated",
     [](auto& s) { s.facts.publish_users(s.facts.epoch(), {.unrestricted = {"default"}}); }},
    {"client_is_still_that_user", [](auto& s) { s.send({"AUTH", "bob", "secret"}, '+'); }},
    {"no_change_is_in_flight", [](auto& s) { s.send({"SELECT", "0"}); }},
    {"client_is_not_in_multi", [](auto& s) { s.send({"MULTI"}, '+'); }},
    {"client_does_not_watch", [](auto& s) { s.send({"WATCH", "a"}, '+'); }},
    {"client_does_not_track", [](auto& s) { s.send({"CLIENT", "TRACKING", "ON"}, '+'); }},
    {"client_is_not_subscribed", [](auto& s) { s.client.confirmed(kOneChannel); }},
    {"client_takes_replies", [](auto& s) { s.decide({"CLIENT", "REPLY", "OFF"}); }},
    {"state_is_certain", [](auto& s) { s.send({"AUTH"}, '-'); }},
    {"there_is_room_for_the_answer", [](auto& s) { s.may_answer = false; }},
};

std::string name_of(const testing::TestParamInfo<Condition>& info) {
  return info.param.name;
}

std::vector<Condition> with_command(const std::vector<std::string_view>& command) {
  std::vector<Condition> conditions;
  for (Condition condition : kConditionsOfAllKeys) {
    condition.command = command;
    conditions.push_back(condition);
  }
  return conditions;
}

INSTANTIATE_TEST_SUITE_P(Get,
                         GuardConditions,
                         testing::ValuesIn(with_command({"GET", "user:500"})),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Mget,
                         GuardConditions,
                         testing::ValuesIn(with_command({"MGET", "user:500"})),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Exists,
                         GuardConditions,
                         testing::ValuesIn(with_command({"EXISTS", "user:500"})),
                         name_of);

INSTANTIATE_TEST_SUITE_P(Getex,
                         GuardConditions,
                         testing::ValuesIn(with_command({"GETEX", "user:500", "PX", "1"})),
                         name_of);
const Condition kConditionsOfGetex[] = {
    {"redis_takes_writes",
     [](auto& s) {
       s.facts.publish(s.facts.epoch(),
                       {.users = {.unrestricted = {"default"}, .default_needs_no_password = true},
                        .takes_writes = false});
     },
     {"GETEX", "user:500"}},
    {"redis_takes_writes_of_hashes",
     [](auto& s) {
       s.facts.publish(s.facts.epoch(),
                       {.users = {.unrestricted = {"default"}, .default_needs_no_password = true},
                        .takes_writes = false});
     },
     {"HGETEX", "user:500", "FIELDS", "1", "f"}},
};
INSTANTIATE_TEST_SUITE_P(GetexOnly,
                         GuardConditions,
                         testing::ValuesIn(kConditionsOfGetex),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Read,
                         GuardConditions,
                         testing::ValuesIn(with_command({"SUNION", "user:500", "item:plum"})),
                         name_of);

// A key that no row can have needs no look-up, but everything else.
const Condition kConditionsOfImpossibleKeys[] = {
    {"mode_is_enforce", [](auto& s) { s.spaces[2].mode = config::Mode::observe; }},
    {"db_is_the_namespaces", [](auto& s) { s.spaces[2].db = 1; }},
    {"filter_is_published", [](auto& s) { s.filters[2]->publish(nullptr); }},
    {"filter_is_fresh", [](auto& s) { s.now += seconds(1); }},
    {"own_write_has_not_just_passed", [](auto& s) { s.decide({"SET", "order:7abc", "x"}); }},
    {"user_is_unrestricted", [](auto& s) { s.facts.withdraw_users(); }},
    {"client_is_not_in_multi", [](auto& s) { s.send({"MULTI"}, '+'); }},
};

class GuardImpossibleKeys : public GuardConditions {};

TEST_P(GuardImpossibleKeys, are_answered_only_while_this_condition_holds) {
  ASSERT_TRUE(shop_.answers({"GET", "order:7abc"}));
  GetParam().take_away(shop_);
  EXPECT_EQ(shop_.decide({"GET", "order:7abc"}).action, Action::forward);
}

INSTANTIATE_TEST_SUITE_P(Strict,
                         GuardImpossibleKeys,
                         testing::ValuesIn(kConditionsOfImpossibleKeys),
                         name_of);

// Commands after which one command is no longer one reply, or the guard has no say.
class GuardUnreadReplies : public testing::TestWithParam<std::vector<std::string_view>> {
 protected:
  GuardedShop shop_;
};

TEST_P(GuardUnreadReplies, from_this_command_on_replies_are_relayed_unread) {
  const Decision decision = shop_.decide(GetParam());
  EXPECT_EQ(decision.action, Action::unread);
  EXPECT_EQ(decision.change, nullptr);
  EXPECT_TRUE(shop_.client.has_unread_replies());
  EXPECT_EQ(shop_.decide({"GET", "user:500"}).action, Action::unread);
  EXPECT_EQ(shop_.decide({"PING"}).action, Action::unread);
}

INSTANTIATE_TEST_SUITE_P(Commands,
                         GuardUnreadReplies,
                         testing::ValuesIn(std::vector<std::vector<std::string_view>>{
                             {"MONITOR"},
                             {"monitor"},
                             {"SYNC"},
                             {"PSYNC", "?", "-1"},
                             {"REPLCONF", "capa", "eof"},
                             {"QUIT"},
                             {"SHUTDOWN"},
                             {"SCRIPT", "DEBUG", "YES"},
                         }));

TEST(GuardStates, a_client_that_wants_no_replies_is_not_answered_until_it_wants_them_again) {
  GuardedShop shop;
  EXPECT_EQ(shop.decide({"CLIENT", "REPLY", "OFF"}).action, Action::forward);
  EXPECT_FALSE(shop.client.next_has_reply());
  EXPECT_EQ(shop.decide({"GET", "user:500"}).action, Action::forward);
  EXPECT_FALSE(shop.client.next_has_reply());
  EXPECT_EQ(shop.decide({"Client", "Reply", "On"}).action, Action::forward);
  EXPECT_TRUE(shop.client.next_has_reply());
  EXPECT_TRUE(shop.answers({"GET", "user:500"}));
}

TEST(GuardStates, a_reply_that_is_skipped_is_redis_to_skip) {
  GuardedShop shop;
  shop.decide({"CLIENT", "REPLY", "SKIP"});
  EXPECT_FALSE(shop.client.next_has_reply());
  EXPECT_EQ(shop.decide({"GET", "user:500"}).action, Action::forward);
  EXPECT_FALSE(shop.client.next_has_reply());
  EXPECT_TRUE(shop.answers({"GET", "user:500"}));
}

constexpr std::array<std::string_view, 7> kOfClientReply{"user_is_unrestricted",
                                                         "client_is_authenticated",
                                                         "no_change_is_in_flight",
                                                         "client_is_not_in_multi",
                                                         "client_is_not_subscribed",
                                                         "client_does_not_watch",
                                                         "state_is_certain"};

// Where Redis may refuse CLIENT REPLY, or queue it, nobody can tell which replies come.
TEST(GuardStates, no_replies_where_redis_may_refuse_that_is_relayed_unread) {
  for (const Condition& condition : kConditionsOfAllKeys) {
    if (std::ranges::count(kOfClientReply, condition.name) != 0) {
      GuardedShop shop;
      condition.take_away(shop);
      EXPECT_EQ(shop.decide({"CLIENT", "REPLY", "OFF"}).action, Action::unread) << condition.name;
    }
  }
}

TEST(GuardStates, a_change_whose_outcome_is_not_replied_is_relayed_unread) {
  for (const std::vector<std::string_view>& change : std::vector<std::vector<std::string_view>>{
           {"SELECT", "1"}, {"MULTI"}, {"SUBSCRIBE", "c"}, {"CLIENT", "TRACKING", "on"}}) {
    GuardedShop shop;
    shop.decide({"CLIENT", "REPLY", "OFF"});
    EXPECT_EQ(shop.decide(change).action, Action::unread) << change.front();
  }
}

TEST(GuardStates, a_subscription_inside_multi_is_relayed_unread) {
  GuardedShop shop;
  shop.decide({"MULTI"});
  shop.client.sent({.kind = redis::ChangeKind::multi});
  EXPECT_EQ(shop.decide({"SUBSCRIBE", "c"}).action, Action::unread);
}

TEST(GuardStates, a_client_that_tracks_is_served_by_redis_until_it_stops) {
  GuardedShop shop;
  shop.send({"CLIENT", "TRACKING", "ON", "BCAST"}, '+');
  EXPECT_EQ(shop.decide({"GET", "user:500"}).action, Action::forward);
  EXPECT_EQ(shop.decide({"CLIENT", "CACHING", "yes"}).action, Action::forward);
  shop.send({"client", "tracking", "off"}, '-');
  EXPECT_EQ(shop.decide({"GET", "user:500"}).action, Action::forward);
  shop.send({"client", "tracking", "off"}, '+');
  EXPECT_TRUE(shop.answers({"GET", "user:500"}));
}

// Refused by Redis, it has changed nothing; accepted, nobody knows what it has.
TEST(GuardStates, a_subcommand_of_client_that_is_not_known_counts_as_redis_takes_it) {
  for (const std::vector<std::string_view>& command : std::vector<std::vector<std::string_view>>{
           {"CLIENT", "CAPA", "other"}, {"CLIENT", "REPLY"}, {"CLIENT", "REPLY", "sometimes"}}) {
    GuardedShop shop;
    shop.send(command, '-');
    EXPECT_TRUE(shop.answers({"GET", "user:500"}));
    shop.send(command, '+');
    EXPECT_EQ(shop.decide({"GET", "user:500"}).action, Action::forward);
  }
}

// Valkey's: a replica sends it away instead of replying.
TEST(GuardStates, a_client_that_wants_to_be_redirected_is_answered_where_redis_is_a_master) {
  GuardedShop shop;
  shop.send({"CLIENT", "CAPA", "redirect"}, '+');
  EXPECT_TRUE(shop.answers({"GET", "user:500"}));
  shop.facts.publish(shop.facts.epoch(),
                     {.users = {.unrestricted = {"default"}, .default_needs_no_password = true},
                      .is_master = false});
  EXPECT_EQ(shop.decide({"GET", "user:500"}).action, Action::forward);
  EXPECT_TRUE(shop.answers_others({"GET", "user:500"}));
}

TEST(GuardStates, harmless_client_and_script_subcommands_leave_the_connection_guarded) {
  GuardedShop shop;
  for (const std::string_view name : {"ID",
                                      "INFO",
                                      "LIST",
                                      "GETNAME",
                                      "SETNAME",
                                      "SETINFO",
                                      "KILL",
                                      "PAUSE",
                                      "UNPAUSE",
                                      "UNBLOCK",
                                      "GETREDIR",
                                      "TRACKINGINFO",
                                      "NO-EVICT",
                                      "NO-TOUCH",
                                      "HELP",
                                      "help"}) {
    EXPECT_EQ(shop.decide({"CLIENT", name}).action, Action::forward) << name;
  }
  EXPECT_EQ(shop.decide({"CLIENT"}).action, Action::forward);
  EXPECT_EQ(shop.decide({"SCRIPT"}).action, Action::forward);
  EXPECT_EQ(shop.decide({"SCRIPT", "LOAD", "return 1"}).action, Action::forward);
  EXPECT_TRUE(shop.answers({"GET", "user:500"}));
}

TEST(GuardStates, a_user_who_logged_in_is_answered_if_unrestricted) {
  GuardedShop shop;
  shop.facts.publish_users(shop.facts.epoch(), {.unrestricted = {"alice", "default"}});
  EXPECT_FALSE(shop.answers({"GET", "user:500"})) << "the default user needs a password now";
  shop.send({"AUTH", "alice", "secret"}, '+');
  EXPECT_TRUE(shop.answers({"GET", "user:500"}));
  shop.send({"AUTH", "secret"}, '+');
  EXPECT_TRUE(shop.answers({"GET", "user:500"})) << "the default user has given it";
  shop.send({"HELLO", "3", "AUTH", "bob", "secret"}, '%');
  EXPECT_FALSE(shop.answers({"GET", "user:500"}));
}

TEST(GuardStates, a_change_queued_in_multi_ends_answering_until_reset) {
  for (const auto& change : std::vector<std::vector<std::string_view>>{
           {"SELECT", "0"}, {"AUTH", "secret"}, {"HELLO", "2"}}) {
    GuardedShop shop;
    shop.send({"MULTI"}, '+');
    shop.send(change, '+');  // +QUEUED: it takes effect at EXEC, or never
    shop.send({"EXEC"}, '*');
    EXPECT_FALSE(shop.answers({"GET", "user:500"})) << change.front();
    shop.send({"RESET"}, '+');
    EXPECT_TRUE(shop.answers({"GET", "user:500"})) << change.front();
  }
}

TEST(GuardStates, answering_begins_again_when_redis_has_replied) {
  GuardedShop shop;
  const redis::StateChange change = shop.send({"SELECT", "2"});
  EXPECT_FALSE(shop.answers({"GET", "user:500"}));
  EXPECT_FALSE(shop.answers({"GET", "cart:500"}));
  shop.client.replied(change, '+');
  EXPECT_TRUE(shop.answers({"GET", "cart:500"})) << "the namespace of that db";
  EXPECT_FALSE(shop.answers({"GET", "user:500"}));
  shop.send({"SELECT", "0"}, '+');
  EXPECT_TRUE(shop.answers({"GET", "user:500"}));
}

}  // namespace
}  // namespace cuckooguard::guard
