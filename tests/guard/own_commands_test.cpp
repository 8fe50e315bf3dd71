#include "guard/own_commands.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "own_command_client.h"

namespace cuckooguard::guard {
namespace {

using Action = OwnDecision::Action;
using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view kNoAuth = "-NOAUTH Authentication required.\r\n";
constexpr std::string_view kNoKey =
    "-NOPERM this user has no permissions to access one of the keys used as arguments\r\n";
constexpr std::string_view kNoCommand =
    "-NOPERM this user has no permissions to run the 'get' command\r\n";

class OwnCommandsTest : public OwnCommandClient {};

TEST_F(OwnCommandsTest, are_told_from_others_by_their_prefix_in_any_case) {
  EXPECT_TRUE(takes({"GUARD.CHECK"}));
  EXPECT_TRUE(takes({"guard.anything"}));
  for (const std::string_view other :
       {"GUARD", "GUARD.", "GUARDX.CHECK", "get", "", "XGUARD.CHECK"}) {
    EXPECT_FALSE(takes({other})) << other;
  }
}

TEST_F(OwnCommandsTest, check_tells_existing_absent_and_unguarded_keys_apart) {
  EXPECT_EQ(reply({"GUARD.CHECK", "user:1", "user:500", "other", "item:plum", "order:x"}),
            "*5\r\n:1\r\n:0\r\n:-1\r\n:0\r\n:0\r\n");
  EXPECT_EQ(reply({"guard.check", "user:500"}), "*1\r\n:0\r\n");
}

TEST_F(OwnCommandsTest, check_says_may_exist_wherever_a_get_would_pass_for_another_reason) {
  EXPECT_EQ(reply({"GUARD.CHECK", "cart:500"}), "*1\r\n:1\r\n") << "another db";
  EXPECT_EQ(reply({"GUARD.CHECK", "user:101"}), "*1\r\n:1\r\n") << "a fresh id";
  shop_.decide({"SET", "user:500", "x"});
  EXPECT_EQ(reply({"GUARD.CHECK", "user:500"}), "*1\r\n:1\r\n") << "just written";
  shop_.spaces[GuardedShop::kItems].mode = config::Mode::observe;
  EXPECT_EQ(reply({"GUARD.CHECK", "item:plum"}), "*1\r\n:1\r\n") << "observe";
  shop_.filters[GuardedShop::kUsers]->set_fresh_until(TimePoint::min());
  EXPECT_EQ(reply({"GUARD.CHECK", "user:600"}), "*1\r\n:1\r\n") << "not fresh";
}

TEST_F(OwnCommandsTest, check_goes_by_the_db_that_the_client_is_in) {
  shop_.send({"SELECT", "2"}, '+');
  EXPECT_EQ(reply({"GUARD.CHECK", "cart:7", "cart:500", "user:500"}), "*3\r\n:1\r\n:0\r\n:1\r\n");
}

TEST_F(OwnCommandsTest, check_counts_no_read) {
  reply({"GUARD.CHECK", "user:500", "other"});
  EXPECT_EQ(shop_.count(GuardedShop::kUsers, Verdict::absent), 0);
  EXPECT_EQ(shop_.guard->counters().unguarded_keys.value(), 0);
  EXPECT_EQ(shop_.guard->counters().answered.value(), 0);
}

TEST_F(OwnCommandsTest, explain_is_a_map_in_resp3_and_an_array_in_resp2) {
  const std::string fields =
      "$9\r\nnamespace\r\n$5\r\nusers\r\n$8\r\nkey_hash\r\n$16\r\n" +
      shop_.process.key_hash("user:500") +
      "\r\n$8\r\nidentity\r\n$3\r\n500\r\n$5\r\nstate\r\n$5\r\nready\r\n$7\r\nverdict\r\n$"
      "6\r\nabsent\r\n$3\r\nwhy\r\n$19\r\nno row has this key\r\n";
  shop_.filters[GuardedShop::kUsers]->set_state(filter::State::ready);
  EXPECT_EQ(reply({"GUARD.EXPLAIN", "user:500"}), "*12\r\n" + fields);
  shop_.send({"HELLO", "3"}, '%');
  EXPECT_EQ(reply({"GUARD.EXPLAIN", "user:500"}), "%6\r\n" + fields);
}

TEST_F(OwnCommandsTest, explain_says_why_a_client_is_answered_nothing) {
  shop_.send({"CLIENT", "NOSUCH"}, '+');
  EXPECT_THAT(reply({"GUARD.EXPLAIN", "user:500"}),
              HasSubstr("pass\r\n$3\r\nwhy\r\n$110\r\nthis client has sent a CLIENT subcommand"));
}

TEST_F(OwnCommandsTest, explain_says_why_a_key_passes) {
  EXPECT_THAT(reply({"GUARD.EXPLAIN", "user:1"}),
              HasSubstr("pass\r\n$3\r\nwhy\r\n$51\r\nthe filter contains it"));
  EXPECT_THAT(reply({"GUARD.EXPLAIN", "user:101"}), HasSubstr("just above the largest"));
  EXPECT_THAT(reply({"GUARD.EXPLAIN", "cart:7"}), HasSubstr("guards db 2, this client is in db 0"));
  EXPECT_THAT(reply({"GUARD.EXPLAIN", "order:x"}), HasSubstr("$8\r\nidentity\r\n$-1\r\n"));
  EXPECT_THAT(reply({"GUARD.EXPLAIN", "order:x"}), HasSubstr("no row can have this value"));
  EXPECT_THAT(reply({"GUARD.EXPLAIN", "other"}),
              AllOf(HasSubstr("$9\r\nnamespace\r\n$-1\r\n"), HasSubstr("unguarded")));
  EXPECT_THAT(
      reply({"GUARD.EXPLAIN", "users:7"}),
      HasSubstr("no template of any namespace matches this key; nearest: user:{id:uint64} of "
                "namespace users: at byte 4, before \"s:7\", the template has \":\"\r\n"));
  shop_.filters[GuardedShop::kUsers]->set_fresh_until(TimePoint::min());
  EXPECT_THAT(reply({"GUARD.EXPLAIN", "user:500"}), HasSubstr("loading"));
  shop_.filters[GuardedShop::kUsers]->set_state(filter::State::lagging);
  EXPECT_THAT(reply({"GUARD.EXPLAIN", "user:500"}), HasSubstr("not proven"));
  shop_.spaces[GuardedShop::kItems].mode = config::Mode::observe;
  EXPECT_THAT(reply({"GUARD.EXPLAIN", "item:plum"}),
              AllOf(HasSubstr("$4\r\npass"), HasSubstr("observe")));
}

TEST_F(OwnCommandsTest, explain_tells_apart_how_a_key_has_come_to_pass) {
  reply({"GUARD.ADD", "user:500"});
  EXPECT_THAT(reply({"GUARD.EXPLAIN", "user:500"}), HasSubstr("the key was recently added"));
  shop_.write({"SET", "user:501", "x"});
  EXPECT_THAT(reply({"GUARD.EXPLAIN", "user:501"}),
              HasSubstr("the key was recently written through the guard"));
  shop_.decide({"SET", "user:502", "x"});
  EXPECT_THAT(reply({"GUARD.EXPLAIN", "user:502"}), HasSubstr("Redis has not replied yet"));
  shop_.write({"SET", "user:500", "x"});
  shop_.now += seconds(1);
  shop_.filters[GuardedShop::kUsers]->set_fresh_until(shop_.now + seconds(1));
  shop_.write({"SET", "user:500", "x"});
  EXPECT_THAT(reply({"GUARD.EXPLAIN", "user:500"}), HasSubstr("the key was recently written"))
      << "since then";
  EXPECT_THAT(reply({"GUARD.EXPLAIN", "user:503"}), HasSubstr("no row has this key"));
  shop_.overlays[GuardedShop::kUsers]->hold_all_until(shop_.now + seconds(5));
  EXPECT_THAT(reply({"GUARD.EXPLAIN", "user:503"}),
              HasSubstr("all keys pass for another 6 s: the guard has just started"));
  EXPECT_THAT(reply({"GUARD.EXPLAIN", "user:501"}), HasSubstr("the key was recently written"))
      << "all the same";
}

TEST_F(OwnCommandsTest, explain_knows_that_a_loading_redis_is_asked) {
  shop_.facts.publish(shop_.facts.epoch(),
                      {.users = {.unrestricted = {"default"}, .default_needs_no_password = true},
                       .availability = redis::Availability::loading});
  EXPECT_THAT(reply({"GUARD.EXPLAIN", "user:500"}),
              AllOf(HasSubstr("$4\r\npass"), HasSubstr("loading")));
}

TEST_F(OwnCommandsTest, added_keys_pass_for_the_overlays_time_or_their_own) {
  EXPECT_EQ(reply({"GUARD.ADD", "user:500", "other", "item:plum"}), ":2\r\n");
  EXPECT_EQ(reply({"GUARD.ADD", "user:600", "TTL", "5"}), ":1\r\n");
  EXPECT_FALSE(shop_.answers({"GET", "user:500"}));
  EXPECT_FALSE(shop_.answers({"GET", "user:600"}));
  EXPECT_TRUE(shop_.answers({"GET", "user:601"}));
  const auto pass = [this](seconds time) {
    shop_.now += time;
    shop_.filters[GuardedShop::kUsers]->set_fresh_until(shop_.now + seconds(1));
  };
  pass(seconds(5));
  EXPECT_FALSE(shop_.answers({"GET", "user:600"})) << "not a moment too early";
  pass(seconds(2));
  EXPECT_TRUE(shop_.answers({"GET", "user:600"}));
  EXPECT_FALSE(shop_.answers({"GET", "user:500"}));
  pass(seconds(60));
  EXPECT_TRUE(shop_.answers({"GET", "user:500"}));
  EXPECT_EQ(shop_.guard->counters(GuardedShop::kUsers).added.value(), 2);
}

TEST_F(OwnCommandsTest, a_key_that_no_row_can_have_passes_when_it_is_added) {
  ASSERT_TRUE(shop_.answers({"GET", "order:x"}));
  EXPECT_EQ(reply({"GUARD.ADD", "order:x"}), ":1\r\n");
  EXPECT_FALSE(shop_.answers({"GET", "order:x"}));
}

TEST_F(OwnCommandsTest, what_finds_its_clients_share_filled_passes_all_the_same) {
  for (int i = 0; i < 2000; ++i) {
    const std::string key = "user:" + std::to_string(1000 + i);
    reply({"GUARD.ADD", key});
    EXPECT_FALSE(shop_.answers({"GET", key})) << key;
  }
  EXPECT_GT(shop_.guard->counters(GuardedShop::kUsers).lost.value(), 0);
  EXPECT_TRUE(shop_.answers_others({"GET", "user:500"}));
}

TEST_F(OwnCommandsTest, a_ttl_needs_a_key_before_it_and_a_number_behind_it) {
  EXPECT_EQ(reply({"GUARD.ADD", "TTL", "5"}), ":0\r\n") << "two keys, of no namespace";
  for (const std::string_view ttl : {"0", "-1", "-9223372036854775808"}) {
    EXPECT_EQ(reply({"GUARD.ADD", "user:500", "ttl", ttl}),
              "-ERR invalid TTL in 'guard.add' command\r\n");
  }
  EXPECT_EQ(reply({"GUARD.ADD", "user:500", "TTL", "5s"}),
            "-ERR value is not an integer or out of range\r\n");
  EXPECT_TRUE(shop_.answers({"GET", "user:500"})) << "a refused command adds nothing";
}

TEST_F(OwnCommandsTest, nothing_is_added_for_longer_than_a_write_is_remembered) {
  shop_.overlays[GuardedShop::kItems]->set_ttl(seconds(5));
  EXPECT_EQ(reply({"GUARD.ADD", "user:500", "other", "TTL", "60"}), ":1\r\n");
  for (const std::string_view ttl : {"6", "86400", "9223372036854775807"}) {
    EXPECT_EQ(reply({"GUARD.ADD", "user:501", "item:plum", "TTL", ttl}),
              std::string("-ERR invalid TTL in 'guard.add' command: overlay.ttl of namespace '") +
                  (ttl == "6" ? "items' is 5 s\r\n" : "users' is 60 s\r\n"));
  }
  EXPECT_TRUE(shop_.answers({"GET", "user:501"})) << "a refused command adds nothing";
  EXPECT_TRUE(shop_.answers({"GET", "item:plum"}));
  EXPECT_EQ(reply({"GUARD.ADD", "other", "TTL", "86400"}), ":0\r\n");
}

TEST_F(OwnCommandsTest, wait_says_one_as_soon_as_the_position_is_reached) {
  sources_.all[0].reached = Reached::yes;
  EXPECT_EQ(reply({"GUARD.WAIT", "shop", "0-1-75", "0"}), ":1\r\n");
  EXPECT_EQ(sources_.asked_for, "0-1-75");
  EXPECT_EQ(reply({"GUARD.WAIT", "shop", "0-1-75", "100"}), ":1\r\n");
}

TEST_F(OwnCommandsTest, wait_holds_until_its_time_is_over) {
  EXPECT_EQ(reply({"GUARD.WAIT", "shop", "0-1-75", "0"}), ":0\r\n") << "asked once";
  EXPECT_EQ(action({"GUARD.WAIT", "shop", "0-1-75", "100"}), Action::hold_for_source);
  shop_.now += milliseconds(99);
  EXPECT_EQ(action({"GUARD.WAIT", "shop", "0-1-75", "100"}), Action::hold_for_source);
  shop_.now += milliseconds(1);
  EXPECT_EQ(reply({"GUARD.WAIT", "shop", "0-1-75", "100"}), ":0\r\n");
  sources_.all[0].reached = Reached::yes;
  EXPECT_EQ(reply({"GUARD.WAIT", "shop", "0-1-75", "100"}), ":1\r\n")
      << "reached at the last moment";
}

TEST_F(OwnCommandsTest, wait_refuses_what_can_never_come) {
  EXPECT_EQ(reply({"GUARD.WAIT", "ship", "0-1-75", "9"}), "-ERR no such source: 'ship'\r\n");
  EXPECT_EQ(reply({"GUARD.WAIT", "files", "0-1-75", "9"}),
            "-ERR source 'files' has no positions, because it is always read again as a whole\r\n");
  sources_.all[0].reached = Reached::not_a_position;
  EXPECT_EQ(reply({"GUARD.WAIT", "shop", "0-1", "9"}),
            "-ERR '0-1' is not a valid position for source 'shop'\r\n");
  EXPECT_EQ(reply({"GUARD.WAIT", "shop", "0-1-75", "-1"}), "-ERR timeout is negative\r\n");
  for (const std::string_view timeout : {"", "x", "1.5", "3600001", "99999999999999999999"}) {
    EXPECT_EQ(reply({"GUARD.WAIT", "shop", "0-1-75", timeout}),
              "-ERR timeout is not an integer or out of range\r\n");
  }
  sources_.asked = 0;
  EXPECT_THAT(reply({"GUARD.WAIT", "shop", std::string(5000, '1'), "9"}), StartsWith("-ERR '111"));
  EXPECT_EQ(sources_.asked, 0) << "too long to be looked at each millisecond";
}

TEST_F(OwnCommandsTest, errors_cannot_be_broken_out_of) {
  EXPECT_EQ(reply({"GUARD.X\r\n+OK"}), "-ERR unknown command 'GUARD.X  +OK'; try GUARD.HELP\r\n");
}

TEST_F(OwnCommandsTest, a_wrong_number_of_arguments_is_refused_in_redis_words) {
  EXPECT_EQ(reply({"GUARD.CHECK"}), "-ERR wrong number of arguments for 'guard.check' command\r\n");
  EXPECT_EQ(reply({"GUARD.EXPLAIN", "a", "b"}),
            "-ERR wrong number of arguments for 'guard.explain' command\r\n");
  EXPECT_EQ(reply({"GUARD.ADD"}), "-ERR wrong number of arguments for 'guard.add' command\r\n");
  EXPECT_EQ(reply({"GUARD.WAIT", "shop", "0-1-75"}),
            "-ERR wrong number of arguments for 'guard.wait' command\r\n");
  EXPECT_EQ(reply({"GUARD.INFO", "a", "b"}),
            "-ERR wrong number of arguments for 'guard.info' command\r\n");
  EXPECT_EQ(reply({"GUARD.HELP", "a"}),
            "-ERR wrong number of arguments for 'guard.help' command\r\n");
}

TEST_F(OwnCommandsTest, help_names_each_command) {
  const std::string help = reply({"GUARD.HELP"});
  for (const char* const name : {"+CHECK <key>",
                                 "+EXPLAIN <key>",
                                 "+ADD <key>",
                                 "+WAIT <source>",
                                 "+INFO",
                                 "+CLEAR <namespace>",
                                 "+PING",
                                 "+HELP"}) {
    EXPECT_THAT(help, HasSubstr(name));
  }
  EXPECT_THAT(
      help,
      StartsWith("*" + std::to_string(std::ranges::count(help, '+')) + "\r\n+GUARD.<subcommand>"));
}

TEST_F(OwnCommandsTest, a_user_who_may_not_read_the_keys_is_refused_in_redis_words) {
  redis::UserAccess access{
      .namespaces = {redis::KeyAccess::none, redis::KeyAccess::read, redis::KeyAccess::read},
      .reads_no_key = {true, false, false}};
  access.on_readable.set(redis::command_index(redis::find_command("get")));
  allow(access);
  EXPECT_EQ(reply({"GUARD.CHECK", "item:plum", "other"}), "*2\r\n:0\r\n:-1\r\n");
  EXPECT_EQ(reply({"GUARD.CHECK", "item:plum", "user:500"}), kNoKey);
  EXPECT_EQ(reply({"GUARD.EXPLAIN", "user:500"}), kNoKey);
  EXPECT_EQ(reply({"GUARD.ADD", "item:plum", "user:500"}), kNoKey);
  EXPECT_TRUE(shop_.answers({"GET", "item:plum"})) << "nothing was added";
  access.on_readable.reset();
  allow(access);
  EXPECT_EQ(reply({"GUARD.CHECK", "item:plum"}), kNoCommand);
  EXPECT_EQ(reply({"GUARD.CHECK", "other"}), "*1\r\n:-1\r\n");
}

// Redis might serve it, by a selector for example.
TEST_F(OwnCommandsTest,
       a_user_of_whom_only_some_is_known_is_told_so_and_not_refused_in_redis_words) {
  constexpr std::string_view kUnknown =
      "-ERR rights unknown: the guard cannot determine whether this user may GET every key of the "
      "namespace (its ACL has a selector or a pattern that is not a prefix, or Redis is older than "
      "7)\r\n";
  allow({.namespaces = {redis::KeyAccess::none, redis::KeyAccess::read}, .knows_commands = false});
  EXPECT_EQ(reply({"GUARD.EXPLAIN", "user:500"}), kUnknown);
  EXPECT_EQ(reply({"GUARD.CHECK", "item:plum"}), kUnknown);
  shop_.facts.report({.state = redis::ControlReport::State::not_allowed,
                      .why = "NOPERM acl|dryrun",
                      .hint = "ACL SETUSER guard +acl|dryrun"});
  EXPECT_EQ(reply({"GUARD.EXPLAIN", "item:plum"}),
            "-ERR rights unknown: Redis does not let the guard read user permissions (see "
            "upstream.control): NOPERM acl|dryrun; ACL SETUSER guard +acl|dryrun\r\n");
}

TEST_F(OwnCommandsTest, of_whose_rights_nothing_is_known_waits_for_them_and_is_told_why) {
  shop_.send({"AUTH", "bob", "word"}, '+');
  const std::initializer_list<std::string_view> dependent[] = {
      {"GUARD.CHECK", "other"}, {"GUARD.EXPLAIN", "user:500"}, {"GUARD.ADD", "user:500"}};
  for (const auto& arguments : dependent) {
    EXPECT_EQ(action(arguments), Action::hold_for_client) << *arguments.begin();
  }
  EXPECT_TRUE(shop_.facts.asks_for("bob"));
  shop_.now += kKnowPatience;
  for (const auto& arguments : dependent) {
    EXPECT_EQ(reply(arguments),
              "-ERR rights unknown: Redis has not reported the permissions of this user yet\r\n")
        << *arguments.begin();
  }
  sources_.all[0].reached = Reached::yes;
  EXPECT_EQ(reply({"GUARD.WAIT", "shop", "0-1-75", "0"}), ":1\r\n") << "whoever is authenticated";
  shop_.facts.publish_users(shop_.facts.epoch(),
                            {.unrestricted = {"default"},
                             .restricted = {{"bob", {.reads_no_key = {true}}}},
                             .default_needs_no_password = true});
  EXPECT_EQ(reply({"GUARD.ADD", "user:500"}), kNoKey);
  shop_.client = Client();
  shop_.filters[GuardedShop::kUsers]->set_fresh_until(shop_.now + seconds(1));
  EXPECT_TRUE(shop_.answers({"GET", "user:500"})) << "nothing was added";
}

TEST_F(OwnCommandsTest, where_rights_cannot_be_known_that_is_said_at_once) {
  shop_.send({"AUTH", "bob", "word"}, '+');
  shop_.facts.publish_users(shop_.facts.epoch(),
                            {.refusal = "NOPERM this user has no permissions"});
  EXPECT_EQ(reply({"GUARD.ADD", "user:500"}),
            "-ERR rights unknown: Redis does not let the guard read user permissions (see "
            "upstream.control): NOPERM this user has no permissions\r\n");
  shop_.facts.report({.state = redis::ControlReport::State::not_allowed, .hint = "set it"});
  EXPECT_EQ(reply({"GUARD.ADD", "user:500"}),
            "-ERR rights unknown: Redis does not let the guard read user permissions (see "
            "upstream.control): NOPERM this user has no permissions; set it\r\n");
  shop_.facts.publish_users(shop_.facts.epoch(), {.unrestricted = {"default"}});
  for (std::size_t i = 0; i < redis::Facts::kUsersToAskMax; ++i) {
    shop_.facts.ask_for("user" + std::to_string(i));
  }
  shop_.send({"AUTH", "carol", "word"}, '+');
  EXPECT_EQ(reply({"GUARD.ADD", "user:500"}),
            "-ERR rights unknown: the guard tracks the permissions of at most 1024 users\r\n");
}

TEST_F(OwnCommandsTest, what_was_known_before_redis_was_lost_counts_no_more) {
  shop_.send({"AUTH", "default", "word"}, '+');
  ASSERT_EQ(reply({"GUARD.CHECK", "user:500"}), "*1\r\n:0\r\n");
  shop_.facts.lost({.why = "Connection refused"});
  ASSERT_EQ(reply({"GUARD.CHECK", "user:500"}), "*1\r\n:0\r\n") << "it could not reach it either";
  shop_.client.upstream_is_up();
  EXPECT_EQ(action({"GUARD.CHECK", "user:500"}), Action::hold_for_client) << "it may come back";
  shop_.now += kKnowPatience;
  EXPECT_EQ(reply({"GUARD.CHECK", "user:500"}),
            "-ERR rights unknown: Redis is unreachable: Connection refused\r\n");
  EXPECT_THAT(reply({"GUARD.INFO"}), StartsWith("$")) << "it has authenticated";
}

TEST_F(OwnCommandsTest, what_was_not_asked_anew_in_time_counts_no_more) {
  shop_.facts.publish(shop_.facts.epoch(),
                      {.users = {.unrestricted = {"default"}, .default_needs_no_password = true},
                       .good_until = shop_.now});
  for (const std::string_view name : {"GUARD.CHECK", "GUARD.INFO"}) {
    since_ = shop_.now;
    EXPECT_EQ(action({name, "users"}), Action::hold_for_client) << name;
    since_ = shop_.now - kKnowPatience;
    EXPECT_EQ(reply({name, "users"}), "-ERR rights unknown: Redis does not respond\r\n") << name;
  }
}

TEST_F(OwnCommandsTest, who_has_not_authenticated_is_refused_in_redis_words) {
  shop_.facts.publish_users(shop_.facts.epoch(), {.unrestricted = {"default"}});
  for (const std::string_view name : {"GUARD.CHECK", "GUARD.INFO", "GUARD.HELP", "GUARD.WHAT"}) {
    EXPECT_EQ(reply({name, "user:500"}), kNoAuth) << name;
  }
  shop_.send({"AUTH", "word"}, '+');
  EXPECT_EQ(reply({"GUARD.CHECK", "user:500"}), "*1\r\n:0\r\n");
}

TEST_F(OwnCommandsTest, a_ping_needs_neither_a_login_nor_redis) {
  constexpr std::string_view kPong = "+PONG\r\n";
  shop_.facts.publish_users(shop_.facts.epoch(), {.unrestricted = {"default"}});
  EXPECT_EQ(reply({"guard.ping"}), kPong);
  shop_.facts.withdraw_users();
  EXPECT_EQ(reply({"GUARD.PING"}), kPong);
  shop_.client.upstream_is_up();
  shop_.facts.lost({.why = "Connection refused"});
  EXPECT_EQ(reply({"GUARD.PING"}), kPong);
  EXPECT_EQ(reply({"GUARD.PING", "a"}),
            "-ERR wrong number of arguments for 'guard.ping' command\r\n");
}

TEST_F(OwnCommandsTest, while_users_are_asked_for_anew_nobody_is_refused) {
  shop_.facts.withdraw_users();
  EXPECT_EQ(action({"GUARD.INFO"}), Action::hold_for_client);
  shop_.now += kKnowPatience;
  EXPECT_THAT(reply({"GUARD.INFO"}), StartsWith("-ERR rights unknown: "));
  shop_.facts.publish_users(shop_.facts.epoch(),
                            {.unrestricted = {"default"}, .default_needs_no_password = true});
  EXPECT_THAT(reply({"GUARD.INFO"}), StartsWith("$"));
}

TEST_F(OwnCommandsTest, what_is_in_flight_and_room_are_waited_for) {
  const redis::StateChange change = shop_.send({"SELECT", "2"});
  EXPECT_EQ(action({"GUARD.CHECK", "cart:500"}), Action::hold_for_client);
  shop_.client.replied(change, '+');
  EXPECT_EQ(reply({"GUARD.CHECK", "cart:500"}), "*1\r\n:0\r\n");
  has_room_ = false;
  EXPECT_EQ(action({"GUARD.CHECK", "cart:500"}), Action::hold_for_client);
}

TEST_F(OwnCommandsTest, after_watch_and_while_tracking_they_are_answered) {
  shop_.send({"WATCH", "a"}, '+');
  EXPECT_EQ(reply({"GUARD.CHECK", "user:500"}), "*1\r\n:0\r\n");
  shop_.send({"CLIENT", "TRACKING", "ON"}, '+');
  EXPECT_EQ(reply({"GUARD.CHECK", "user:500"}), "*1\r\n:0\r\n");
}

TEST_F(OwnCommandsTest, where_redis_would_not_run_a_command_it_is_left_to_redis) {
  const redis::StateChange change = shop_.send({"MULTI"});
  EXPECT_EQ(action({"GUARD.CHECK", "user:500"}), Action::hold_for_client) << "MULTI in flight";
  shop_.client.replied(change, '+');
  EXPECT_EQ(action({"GUARD.CHECK", "user:500"}), Action::forward);
  shop_.send({"EXEC"}, '*');
  EXPECT_EQ(action({"GUARD.CHECK", "user:500"}), Action::answer);
  shop_.decide({"CLIENT", "REPLY", "OFF"});
  EXPECT_EQ(action({"GUARD.CHECK", "user:500"}), Action::forward);
  shop_.decide({"MONITOR"});
  EXPECT_EQ(action({"GUARD.CHECK", "user:500"}), Action::forward);
}

}  // namespace
}  // namespace cuckooguard::guard
