#include "guard/own_commands.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "guard/guarded_shop.h"
#include "guard/told_sources.h"

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

class OwnCommandsTest : public testing::Test {
 protected:
  OwnCommandsTest() { shop_.process.sources = &sources_; }

  OwnDecision decide(std::initializer_list<std::string_view> arguments) {
    return own_.decide(std::span(arguments.begin(), arguments.size()),
                       shop_.client,
                       {.now = shop_.now, .since = since_, .has_room = has_room_});
  }
  // The reply, or "" if there is none yet or ever.
  std::string reply(std::initializer_list<std::string_view> arguments) {
    const OwnDecision decision = decide(arguments);
    return decision.action == Action::answer ? std::string(decision.reply) : "";
  }
  Action action(std::initializer_list<std::string_view> arguments) {
    return decide(arguments).action;
  }
  void allow(UserAccess access) {
    Users users{.default_needs_no_password = true};
    users.restricted.emplace("default", std::move(access));
    shop_.facts.publish_users(shop_.facts.epoch(), std::move(users));
  }

  GuardedShop shop_;
  ToldSources sources_{{{.name = "shop", .status = {.type = "mysql"}},
                        {.name = "files", .status = {}, .reached = Reached::not_followed}}};
  OwnCommands own_{*shop_.guard};
  TimePoint since_ = shop_.now;
  bool has_room_ = true;
};

TEST_F(OwnCommandsTest, are_told_from_others_by_their_prefix_in_any_case) {
  EXPECT_TRUE(OwnCommands::is_own("GUARD.CHECK"));
  EXPECT_TRUE(OwnCommands::is_own("guard.anything"));
  for (const std::string_view other :
       {"GUARD", "GUARD.", "GUARDX.CHECK", "get", "", "XGUARD.CHECK"}) {
    EXPECT_FALSE(OwnCommands::is_own(other)) << other;
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

TEST_F(OwnCommandsTest, only_operators_may_change_a_namespace) {
  const std::string refused =
      "-NOPERM this user has no permissions to run the 'guard.mode' command: it is not one of "
      "admin.operators\r\n";
  EXPECT_EQ(reply({"GUARD.MODE", "users", "bypass"}), refused);
  EXPECT_THAT(reply({"GUARD.REBUILD", "users"}), StartsWith("-NOPERM "));
  shop_.process.operators.users = {"ops"};
  EXPECT_EQ(reply({"GUARD.MODE", "users", "bypass"}), refused) << "this one is `default`";
  EXPECT_EQ(shop_.spaces[GuardedShop::kUsers].mode.get(), config::Mode::enforce);
  allow({.is_unrestricted = true});
  shop_.send({"AUTH", "ops", "secret"}, '+');
  Users users{.default_needs_no_password = true};
  users.restricted.emplace("ops", UserAccess{.is_unrestricted = true});
  shop_.facts.publish_users(shop_.facts.epoch(), std::move(users));
  EXPECT_EQ(reply({"GUARD.MODE", "users", "bypass"}), "+OK\r\n");
}

TEST_F(OwnCommandsTest, mode_changes_what_is_done_about_absent_keys) {
  std::vector<std::string> told;
  shop_.process.operators = {
      .users = {"default"},
      .on_change = [&](std::string_view user, std::string_view ns, std::string_view what) {
        told.push_back(std::string(user) + " " + std::string(ns) + " " + std::string(what));
      }};
  const auto check = [&] { return reply({"GUARD.CHECK", "user:500"}); };
  EXPECT_EQ(reply({"GUARD.MODE", "users", "Observe"}), "+OK\r\n");
  EXPECT_EQ(check(), "*1\r\n:1\r\n");
  EXPECT_EQ(reply({"GUARD.MODE", "users", "enforce"}), "+OK\r\n");
  EXPECT_EQ(check(), "*1\r\n:0\r\n");
  EXPECT_EQ(reply({"GUARD.MODE", "users", "bypass"}), "+OK\r\n");
  EXPECT_EQ(shop_.decide({"GET", "user:500"}).action, guard::Action::forward);
  EXPECT_EQ(reply({"GUARD.MODE", "users", "off"}),
            "-ERR no mode 'off': observe, enforce or bypass\r\n");
  EXPECT_EQ(reply({"GUARD.MODE", "nobody", "observe"}), "-ERR no namespace 'nobody'\r\n");
  EXPECT_THAT(
      told,
      testing::ElementsAre(
          "default users mode observe", "default users mode enforce", "default users mode bypass"));
}

TEST_F(OwnCommandsTest, what_was_written_in_bypass_passes_when_it_ends) {
  shop_.process.operators.users = {"default"};
  const auto check = [&] { return reply({"GUARD.CHECK", "user:500"}); };
  EXPECT_EQ(reply({"GUARD.MODE", "users", "bypass"}), "+OK\r\n");
  shop_.decide({"SET", "user:500", "x"});
  EXPECT_EQ(reply({"GUARD.MODE", "users", "enforce"}), "+OK\r\n");
  EXPECT_EQ(check(), "*1\r\n:1\r\n");
  shop_.now += seconds(62);  // the overlay's ttl
  shop_.filters[GuardedShop::kUsers]->set_fresh_until(shop_.now + seconds(1));
  EXPECT_EQ(check(), "*1\r\n:0\r\n") << "by then the source has told of it, or there is no row";
}

TEST_F(OwnCommandsTest, who_ends_observe_is_told_what_was_seen_in_it) {
  std::string told;
  shop_.process.operators = {
      .users = {"default"},
      .on_change = [&](std::string_view /*user*/, std::string_view /*ns*/, std::string_view what) {
        told = what;
      }};
  shop_.process.guards = {shop_.guard.get()};
  shop_.spaces[GuardedShop::kUsers].mode = config::Mode::observe;
  for (const std::string_view key : {"user:1", "user:2", "user:3", "user:500"}) {
    shop_.decide({"GET", key});
  }
  reply({"GUARD.MODE", "users", "enforce"});
  EXPECT_THAT(told, StartsWith("mode enforce; observe ends: "));
  EXPECT_THAT(told, HasSubstr("25 % of look-ups would have been stopped"));
  reply({"GUARD.MODE", "users", "bypass"});
  EXPECT_EQ(told, "mode bypass") << "it was in enforce";
}

TEST_F(OwnCommandsTest, enforce_needs_an_absent_reply) {
  shop_.process.operators.users = {"default"};
  shop_.spaces[GuardedShop::kUsers].mode = config::Mode::observe;
  shop_.spaces[GuardedShop::kUsers].may_enforce = false;
  EXPECT_THAT(reply({"GUARD.MODE", "users", "enforce"}), HasSubstr("needs an absent_reply"));
  EXPECT_EQ(shop_.spaces[GuardedShop::kUsers].mode.get(), config::Mode::observe);
}

TEST_F(OwnCommandsTest, rebuild_asks_the_source_to_read_the_rows_again) {
  shop_.process.operators.users = {"default"};
  EXPECT_EQ(reply({"GUARD.REBUILD", "nobody"}), "-ERR no namespace 'nobody'\r\n");
  EXPECT_FALSE(shop_.filters[GuardedShop::kUsers]->take_rebuild_request());
  EXPECT_EQ(reply({"GUARD.REBUILD", "users"}), "+OK\r\n");
  EXPECT_TRUE(shop_.filters[GuardedShop::kUsers]->take_rebuild_request());
  EXPECT_FALSE(shop_.filters[GuardedShop::kUsers]->take_rebuild_request()) << "once";
  EXPECT_FALSE(shop_.filters[GuardedShop::kItems]->take_rebuild_request());
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
      "\r\n$8\r\nidentity\r\n$3\r\n500\r\n$5\r\nstate\r\n$"
      "5\r\nready\r\n"
      "$7\r\nverdict\r\n$6\r\nabsent\r\n$3\r\nwhy\r\n$13\r\nno row has it\r\n";
  shop_.filters[GuardedShop::kUsers]->set_state(filter::State::ready);
  EXPECT_EQ(reply({"GUARD.EXPLAIN", "user:500"}), "*12\r\n" + fields);
  shop_.send({"HELLO", "3"}, '%');
  EXPECT_EQ(reply({"GUARD.EXPLAIN", "user:500"}), "%6\r\n" + fields);
}

TEST_F(OwnCommandsTest, explain_says_why_a_key_passes) {
  EXPECT_THAT(reply({"GUARD.EXPLAIN", "user:1"}),
              HasSubstr("pass\r\n$3\r\nwhy\r\n$54\r\nthe filter has it"));
  EXPECT_THAT(reply({"GUARD.EXPLAIN", "user:101"}), HasSubstr("just above the largest"));
  EXPECT_THAT(reply({"GUARD.EXPLAIN", "cart:7"}), HasSubstr("guards db 2, this client is in db 0"));
  EXPECT_THAT(reply({"GUARD.EXPLAIN", "order:x"}), HasSubstr("$8\r\nidentity\r\n$-1\r\n"));
  EXPECT_THAT(reply({"GUARD.EXPLAIN", "order:x"}), HasSubstr("no row can have such a value"));
  EXPECT_THAT(reply({"GUARD.EXPLAIN", "other"}),
              AllOf(HasSubstr("$9\r\nnamespace\r\n$-1\r\n"), HasSubstr("unguarded")));
  shop_.filters[GuardedShop::kUsers]->set_fresh_until(TimePoint::min());
  EXPECT_THAT(reply({"GUARD.EXPLAIN", "user:500"}), HasSubstr("being loaded"));
  shop_.filters[GuardedShop::kUsers]->set_state(filter::State::lagging);
  EXPECT_THAT(reply({"GUARD.EXPLAIN", "user:500"}), HasSubstr("no proof"));
  shop_.spaces[GuardedShop::kItems].mode = config::Mode::observe;
  EXPECT_THAT(reply({"GUARD.EXPLAIN", "item:plum"}),
              AllOf(HasSubstr("$4\r\npass"), HasSubstr("observe")));
}

TEST_F(OwnCommandsTest, explain_knows_that_a_loading_redis_is_asked) {
  shop_.facts.note_error("-LOADING Redis is");
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

TEST_F(OwnCommandsTest, what_finds_an_overlay_full_passes_all_the_same) {
  for (int i = 0; i < 20'000; ++i) {
    const std::string key = "user:" + std::to_string(1000 + i);
    reply({"GUARD.ADD", key});
    EXPECT_FALSE(shop_.answers({"GET", key})) << key;
  }
  EXPECT_GT(shop_.overlays[GuardedShop::kUsers]->overflows(), 0);
}

TEST_F(OwnCommandsTest, a_ttl_needs_a_key_before_it_and_a_number_behind_it) {
  EXPECT_EQ(reply({"GUARD.ADD", "TTL", "5"}), ":0\r\n") << "two keys, of no namespace";
  for (const std::string_view ttl : {"0", "-1", "86401"}) {
    EXPECT_EQ(reply({"GUARD.ADD", "user:500", "ttl", ttl}),
              "-ERR invalid TTL in 'guard.add' command\r\n");
  }
  EXPECT_EQ(reply({"GUARD.ADD", "user:500", "TTL", "5s"}),
            "-ERR value is not an integer or out of range\r\n");
  EXPECT_TRUE(shop_.answers({"GET", "user:500"})) << "a refused command adds nothing";
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
  EXPECT_EQ(reply({"GUARD.WAIT", "ship", "0-1-75", "9"}), "-ERR no source 'ship'\r\n");
  EXPECT_EQ(reply({"GUARD.WAIT", "files", "0-1-75", "9"}),
            "-ERR source 'files' has no positions: it is read again as a whole\r\n");
  sources_.all[0].reached = Reached::not_a_position;
  EXPECT_EQ(reply({"GUARD.WAIT", "shop", "0-1", "9"}),
            "-ERR '0-1' is no position of source 'shop'\r\n");
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
  for (const char* const name :
       {"+CHECK <key>", "+EXPLAIN <key>", "+ADD <key>", "+WAIT <source>", "+INFO", "+HELP"}) {
    EXPECT_THAT(help, HasSubstr(name));
  }
  EXPECT_THAT(
      help,
      StartsWith("*" + std::to_string(std::ranges::count(help, '+')) + "\r\n+GUARD.<subcommand>"));
}

TEST_F(OwnCommandsTest, a_user_who_may_not_read_the_keys_is_refused_in_redis_words) {
  UserAccess access{.namespaces = {KeyAccess::none, KeyAccess::read, KeyAccess::read}};
  access.on_readable.set(command_index(find_command("get")));
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

TEST_F(OwnCommandsTest, of_whose_rights_nothing_is_known_learns_nothing_of_the_filter) {
  shop_.send({"AUTH", "bob", "word"}, '+');
  EXPECT_EQ(reply({"GUARD.CHECK", "user:500", "user:1", "other"}), "*3\r\n:1\r\n:1\r\n:-1\r\n");
  EXPECT_THAT(reply({"GUARD.EXPLAIN", "user:500"}),
              AllOf(HasSubstr("$4\r\npass"), HasSubstr("not known")));
  EXPECT_EQ(reply({"GUARD.ADD", "user:500"}), ":1\r\n") << "it only makes keys pass";
  sources_.all[0].reached = Reached::yes;
  EXPECT_EQ(reply({"GUARD.WAIT", "shop", "0-1-75", "0"}), ":1\r\n");
}

TEST_F(OwnCommandsTest, what_was_known_before_redis_was_lost_counts_no_more) {
  shop_.send({"AUTH", "default", "word"}, '+');
  ASSERT_EQ(reply({"GUARD.CHECK", "user:500"}), "*1\r\n:0\r\n");
  shop_.client.upstream_is_up();
  shop_.facts.lost();
  EXPECT_EQ(reply({"GUARD.CHECK", "user:500"}), "*1\r\n:1\r\n");
}

TEST_F(OwnCommandsTest, who_has_not_authenticated_is_refused_in_redis_words) {
  shop_.facts.publish_users(shop_.facts.epoch(), {.unrestricted = {"default"}});
  for (const std::string_view name : {"GUARD.CHECK", "GUARD.INFO", "GUARD.HELP", "GUARD.WHAT"}) {
    EXPECT_EQ(reply({name, "user:500"}), kNoAuth) << name;
  }
  shop_.send({"AUTH", "word"}, '+');
  EXPECT_EQ(reply({"GUARD.CHECK", "user:500"}), "*1\r\n:0\r\n");
}

TEST_F(OwnCommandsTest, while_users_are_asked_for_anew_nobody_is_refused) {
  shop_.facts.withdraw_users();
  EXPECT_EQ(action({"GUARD.INFO"}), Action::hold_for_client);
  shop_.now += OwnCommands::kKnowPatience;
  EXPECT_THAT(reply({"GUARD.INFO"}), StartsWith("-NOAUTH The guard cannot tell"));
  shop_.facts.publish_users(shop_.facts.epoch(),
                            {.unrestricted = {"default"}, .default_needs_no_password = true});
  EXPECT_THAT(reply({"GUARD.INFO"}), StartsWith("$"));
}

TEST_F(OwnCommandsTest, a_lost_redis_is_not_waited_for) {
  shop_.facts.withdraw_users();
  shop_.facts.lost();
  EXPECT_THAT(reply({"GUARD.INFO"}), StartsWith("-NOAUTH The guard cannot tell"));
}

TEST_F(OwnCommandsTest, what_is_in_flight_and_room_are_waited_for) {
  const StateChange change = shop_.send({"SELECT", "2"});
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
  const StateChange change = shop_.send({"MULTI"});
  EXPECT_EQ(action({"GUARD.CHECK", "user:500"}), Action::forward) << "MULTI in flight";
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
