#include "upstream/control.h"

#include <chrono>
#include <csignal>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "harness/ports.h"
#include "harness/redis_server.h"
#include "harness/temporary_directory.h"
#include "heard.h"

namespace cuckooguard::upstream {
namespace {

using harness::RedisServer;
using State = redis::ControlReport::State;

config::Upstream at(const RedisServer& redis,
                    config::Control control = {},
                    config::Acl acl = config::Acl::ask) {
  return {.address = {.host = "127.0.0.1", .port = redis.port()},
          .acl = acl,
          .control = std::move(control)};
}

Questions some_questions() {
  return {.keys = {{"user:"}}};
}

bool is_default_with_password(const redis::Users& users) {
  return is_unrestricted_default(users) && !users.default_needs_no_password;
}
bool is_restricted_default(const redis::Users& users) {
  return users.unrestricted.empty() && users.restricted.size() == 1 &&
         users.restricted.contains("default");
}
bool is_nobody(const redis::Users& users) {
  return users.unrestricted.empty() && users.restricted.empty();
}
bool needs_password(const redis::Reading& reading) {
  return !reading.users.default_needs_no_password;
}
bool needs_no_password(const redis::Reading& reading) {
  return reading.users.default_needs_no_password;
}

TEST(Control, the_default_user_of_a_fresh_redis_may_do_everything_without_a_password) {
  const RedisServer redis;
  Heard heard;
  Control control(at(redis), some_questions(), heard.calls());
  control.start();
  EXPECT_TRUE(heard.users_become(is_open_default));
  EXPECT_TRUE(heard.reachable_becomes({true}));
}

TEST(Control, speaks_over_a_unix_socket_too) {
  const RedisServer redis;
  Heard heard;
  Control control(
      {.address = {.unix_path = redis.unix_path().string()}}, some_questions(), heard.calls());
  control.start();
  EXPECT_TRUE(heard.users_become(is_open_default));
}

TEST(Control, nobody_is_known_to_who_may_not_ask) {
  const RedisServer redis({"--requirepass", "secret"}, "secret");
  Heard heard;
  Control control(at(redis), some_questions(), heard.calls());
  control.start();
  EXPECT_TRUE(heard.users_become(is_nobody));
  EXPECT_EQ(
      heard.reports(),
      (std::vector<redis::ControlReport>{
          {.state = State::not_allowed,
           .why = "NOAUTH Authentication required.",
           .hint = "set upstream.control (username, password_file); until then all keys pass"}}));
}

TEST(Control, a_password_opens_the_door_and_the_default_user_still_needs_one) {
  const RedisServer redis({"--requirepass", "secret"}, "secret");
  Heard heard;
  Control control(at(redis, {.password = "secret"}), some_questions(), heard.calls());
  control.start();
  EXPECT_TRUE(heard.users_become(is_default_with_password));
}

TEST(Control, the_password_is_read_from_its_file_at_each_connect) {
  const RedisServer redis({"--requirepass", "secret"}, "secret");
  const harness::TemporaryDirectory directory;
  harness::write_whole_file(directory / "password", "wrong\n");
  Heard heard;
  Control control(at(redis, {.password_file = (directory / "password").string()}),
                  some_questions(),
                  heard.calls());
  control.start();
  EXPECT_TRUE(heard.loss_becomes(true));
  harness::write_whole_file(directory / "password", "secret\n");
  EXPECT_TRUE(heard.users_become(is_default_with_password));
  EXPECT_TRUE(heard.report_becomes({.state = State::allowed}));
  EXPECT_TRUE(heard.reachable_becomes({true}));
}

TEST(Control, asks_as_the_user_it_is_given) {
  const RedisServer redis({"--user", "ops", "on", ">pass", "+acl|getuser"});
  Heard heard;
  Control control(
      at(redis, {.username = "ops", .password = "pass"}), some_questions(), heard.calls());
  control.start();
  EXPECT_TRUE(heard.users_become(is_open_default));
}

TEST(Control, each_right_that_lacks_is_named_with_what_it_costs_until_it_is_given) {
  const RedisServer redis({"--user", "ops", "on", ">pass", "+ping"});
  Heard heard;
  Control control(
      at(redis, {.username = "ops", .password = "pass"}), some_questions(), heard.calls());
  control.start();
  const auto no = [](const std::string& command) {
    return "NOPERM this user has no permissions to run the '" + command + "' command";
  };
  const auto gives = [&](const std::string& rule) {
    return redis.call({"ACL", "SETUSER", "ops", rule}) == "+OK\r\n";
  };
  EXPECT_TRUE(heard.report_becomes({.state = State::not_allowed,
                                    .why = no("acl|getuser") + "; " + no("command") + "; " +
                                           no("info") + "; " + no("config|get"),
                                    .hint = "ACL SETUSER ops +acl|getuser +command +info +dbsize "
                                            "+config|get; until then all keys pass"}));
  ASSERT_TRUE(gives("+acl|getuser"));
  ASSERT_TRUE(gives("+dbsize"));
  ASSERT_TRUE(gives("+command"));
  EXPECT_TRUE(heard.report_becomes(
      {.state = State::limited,
       .why = no("info") + "; " + no("config|get"),
       .hint = "ACL SETUSER ops +info +config|get; until then GETEX of absent keys passes; Redis's "
               "own `timeout` may close clients that read only absent keys"}));
  ASSERT_TRUE(gives("+config|get"));
  ASSERT_TRUE(gives("+info"));
  EXPECT_TRUE(heard.report_becomes({.state = State::allowed}));
  ASSERT_EQ(redis.call({"ACL", "SETUSER", "default", "-debug"}), "+OK\r\n");
  EXPECT_TRUE(heard.report_becomes({.state = State::not_allowed,
                                    .why = no("acl|dryrun"),
                                    .hint = "ACL SETUSER ops +acl|dryrun; until then all keys pass "
                                            "for users who may not run all commands"}));
  ASSERT_TRUE(gives("+acl|dryrun"));
  EXPECT_TRUE(heard.report_becomes({.state = State::allowed}));
  EXPECT_TRUE(heard.users_become([](const redis::Users& users) {
    const redis::UserAccess* const user = users.find("default");
    return is_restricted_default(users) && user->knows_commands &&
           user->may(redis::command_index(redis::find_command("get")), 0);
  })) << "a right that is given counts at once";
}

TEST(Control, a_trusting_one_that_may_not_ask_costs_little) {
  const RedisServer redis({"--requirepass", "secret"}, "secret");
  Heard heard;
  Control control(at(redis, {}, config::Acl::trust), some_questions(), heard.calls());
  control.start();
  EXPECT_TRUE(heard.report_becomes(
      {.state = State::limited,
       .why = "NOAUTH Authentication required.",
       .hint = "set upstream.control (username, password_file); until then GETEX of absent keys "
               "passes, and the guard cannot detect when Redis is loading or busy"}));
}

TEST(Control, a_user_that_a_restarted_redis_does_not_know_is_told_in_its_words) {
  RedisServer redis({"--user", "ops", "on", ">pass", "+@all"});
  Heard heard;
  Control control(
      at(redis, {.username = "ops", .password = "pass"}), some_questions(), heard.calls());
  control.start();
  ASSERT_TRUE(heard.report_becomes({.state = State::allowed}));
  redis.kill();
  redis.start_again_as({}, "");
  EXPECT_TRUE(heard.report_becomes(
      {.state = State::not_allowed,
       .why = "WRONGPASS invalid username-password pair or user is disabled.",
       .hint = "correct upstream.control (username, password_file), or ACL SETUSER ops on "
               ">PASSWORD +acl|getuser +acl|list +acl|dryrun +command +info +dbsize +config|get; "
               "until then all keys pass"}));
  EXPECT_TRUE(heard.reachable_becomes({true, false, true})) << "it is there";
}

TEST(Control, a_wrong_password_is_told_with_redis_own_words_and_nobody_is_known) {
  const RedisServer redis({"--requirepass", "secret"}, "secret");
  Heard heard;
  Control control(at(redis, {.password = "guess"}), some_questions(), heard.calls());
  control.start();
  EXPECT_TRUE(heard.loss_becomes(true));
  ASSERT_EQ(heard.reports().size(), 1U);
  EXPECT_TRUE(heard.reports()[0].why.starts_with("WRONGPASS ")) << heard.reports()[0].why;
  EXPECT_FALSE(heard.any_facts());
}

TEST(Control, a_restricted_default_user_is_not_unrestricted) {
  const RedisServer redis({"--user", "default", "on", "nopass", "~app:*", "&*", "+@all"});
  Heard heard;
  Control control(at(redis), some_questions(), heard.calls());
  control.start();
  EXPECT_TRUE(heard.users_become(is_restricted_default));
}

TEST(Control, a_change_is_seen_when_it_is_asked_for) {
  const RedisServer redis;
  Heard heard;
  Control control(at(redis), some_questions(), heard.calls());
  control.start();
  ASSERT_TRUE(heard.users_become(is_open_default));
  redis.call({"ACL", "SETUSER", "default", "-debug"});
  const auto asked = std::chrono::steady_clock::now();
  control.refresh();
  EXPECT_TRUE(heard.users_become(is_restricted_default));
  EXPECT_LT(std::chrono::steady_clock::now() - asked, Control::kEvery);
}

TEST(Control, a_change_that_nobody_tells_of_is_seen_within_a_second) {
  const RedisServer redis;
  Heard heard;
  Control control(at(redis), some_questions(), heard.calls());
  control.start();
  ASSERT_TRUE(heard.users_become(is_open_default));
  redis.call({"ACL", "SETUSER", "default", "-debug"});
  const auto changed = std::chrono::steady_clock::now();
  EXPECT_TRUE(heard.users_become(is_restricted_default));
  EXPECT_LT(std::chrono::steady_clock::now() - changed, std::chrono::seconds(1));
}

TEST(Control, doubts_lead_to_few_askings_however_many_there_are) {
  const RedisServer redis;
  Heard heard;
  Control control(at(redis), some_questions(), heard.calls());
  control.start();
  ASSERT_TRUE(heard.users_become(is_open_default));
  const int before = heard.times();
  const auto began = std::chrono::steady_clock::now();
  const auto is_over = [&] { return heard.times() - before >= 10; };
  while (!is_over()) {
    control.refresh_soon();
  }
  EXPECT_GE(std::chrono::steady_clock::now() - began, 9 * Control::kSoon);
}

TEST(Control, a_redis_that_does_not_let_it_log_in_is_up) {
  const RedisServer redis({"--requirepass", "secret"}, "secret");
  Heard heard;
  Control control(at(redis, {.password = "guess"}), some_questions(), heard.calls());
  control.start();
  EXPECT_TRUE(heard.loss_becomes(true));
}

TEST(Control, tells_a_redis_that_is_silent_from_one_that_is_down) {
  RedisServer redis;
  Heard heard;
  Control control(at(redis), some_questions(), heard.calls());
  control.start();
  ASSERT_TRUE(heard.users_become(is_open_default));
  ::kill(redis.pid(), SIGSTOP);
  EXPECT_TRUE(heard.loss_becomes(true));
  EXPECT_TRUE(heard.reachable_becomes({true, false}));
  EXPECT_EQ(heard.why(), "no reply within 2 s");
  redis.kill();
  EXPECT_TRUE(heard.loss_becomes(false));
}

TEST(Control, says_why_users_are_not_known_and_tries_whether_they_need_a_password) {
  const RedisServer redis({"--user", "ops", "on", ">pass", "+ping"});
  Heard heard;
  Control control(
      at(redis, {.username = "ops", .password = "pass"}), some_questions(), heard.calls());
  control.start();
  EXPECT_TRUE(heard.reading_becomes([](const redis::Reading& reading) {
    return is_nobody(reading.users) && reading.users.refusal.starts_with("NOPERM ") &&
           needs_no_password(reading);
  }));
  redis.call({"CONFIG", "SET", "requirepass", "secret"});
  EXPECT_TRUE(heard.reading_becomes(needs_password));
}

TEST(Control, a_redis_that_lets_nobody_in_lets_nobody_in_without_a_password) {
  const RedisServer redis;
  Heard heard;
  Control control(at(redis, {}, config::Acl::trust), some_questions(), heard.calls());
  control.start();
  ASSERT_TRUE(heard.reading_becomes(needs_no_password));
  const harness::RawClient straight = redis.client();
  redis.call({"CONFIG", "SET", "maxclients", "2"});
  EXPECT_TRUE(heard.reading_becomes(needs_password));
}

TEST(Control, a_redis_that_was_restarted_is_asked_again) {
  RedisServer redis;
  Heard heard;
  Control control(at(redis), some_questions(), heard.calls());
  control.start();
  ASSERT_TRUE(heard.users_become(is_open_default));
  redis.kill();
  control.refresh();
  EXPECT_TRUE(heard.reachable_becomes({true, false}));
  EXPECT_TRUE(heard.users_become(is_open_default));  // the last answer stands
  redis.start_again();
  EXPECT_TRUE(heard.reachable_becomes({true, false, true}));
}

TEST(Control, the_loss_of_redis_is_seen_at_once) {
  RedisServer redis;
  Heard heard;
  Control control(at(redis), some_questions(), heard.calls());
  control.start();
  ASSERT_TRUE(heard.users_become(is_open_default));
  const auto before = std::chrono::steady_clock::now();
  redis.kill();
  EXPECT_TRUE(heard.reachable_becomes({true, false}));
  EXPECT_LT(std::chrono::steady_clock::now() - before, Control::kEvery / 2)
      << "without waiting for the next asking";
}

TEST(Control, commands_are_told_with_the_first_facts_of_each_connection) {
  RedisServer redis;
  Heard heard;
  Control control(at(redis), some_questions(), heard.calls());
  control.start();
  const auto has_commands = [](const redis::Reading& reading) {
    return reading.commands && reading.commands->listed.count() > 200;
  };
  EXPECT_TRUE(heard.reading_becomes(has_commands));
  control.refresh();
  EXPECT_TRUE(
      heard.reading_becomes([](const redis::Reading& reading) { return !reading.commands; }));
  redis.kill();
  ASSERT_TRUE(heard.reachable_becomes({true, false}));
  redis.start_again();
  EXPECT_TRUE(heard.reading_becomes(has_commands));
}

TEST(Control, a_cluster_is_refused_once_and_in_words_and_nobody_is_known) {
  const RedisServer redis({"--cluster-enabled", "yes"});
  Heard heard;
  Control control(at(redis), some_questions(), heard.calls());
  control.start();
  EXPECT_TRUE(heard.users_become(is_nobody));
  EXPECT_TRUE(heard.reading_becomes([](const redis::Reading& reading) {
    return needs_no_password(reading) && !reading.users.trusts_everyone &&
           reading.users.refusal ==
               "this Redis is a cluster node (cluster_enabled:1), but upstream.address is for a "
               "Redis without cluster mode";
  }));
  control.refresh();
  ASSERT_TRUE(heard.reading_becomes([](const redis::Reading&) { return true; }));
  ASSERT_EQ(heard.reports().size(), 1U);
  EXPECT_EQ(heard.reports()[0].state, State::unsupported);
  EXPECT_TRUE(heard.reports()[0].hint.ends_with("answers nothing itself"));
}

TEST(Control, a_redis_that_should_be_a_cluster_and_is_none_is_refused) {
  const RedisServer redis;
  Heard heard;
  config::Upstream settings = at(redis);
  settings.cluster = {settings.address};
  Questions questions = some_questions();
  questions.served_slots = [](auto, auto, bool) { return redis::Slots(); };
  Control control(settings, questions, heard.calls());
  control.start();
  EXPECT_TRUE(heard.users_become(is_nobody));
  ASSERT_TRUE(heard.reading_becomes([](const redis::Reading&) { return true; }));
  ASSERT_FALSE(heard.reports().empty());
  EXPECT_EQ(heard.reports()[0].state, State::unsupported);
  EXPECT_TRUE(heard.reports()[0].why.contains("runs without cluster mode"));
}

TEST(Control, a_trusting_one_asks_for_no_user_but_knows_whether_a_password_is_needed) {
  const RedisServer redis;
  redis.call({"ACL", "SETUSER", "default", "-@all", "+ping"});
  Heard heard;
  Control control(at(redis, {}, config::Acl::trust), some_questions(), heard.calls());
  control.start();
  EXPECT_TRUE(heard.reading_becomes(needs_no_password));
  EXPECT_TRUE(heard.users_become(is_nobody));
}

// Redis closes a connection that sends more than 10 arguments before it has authenticated.
TEST(Control, keeps_its_connection_where_it_may_ask_nothing) {
  const RedisServer redis({"--requirepass", "secret"}, "secret");
  Heard heard;
  Control control(at(redis), some_questions(), heard.calls());
  control.start();
  EXPECT_TRUE(heard.users_become(is_nobody));
  EXPECT_TRUE(heard.reachable_becomes({true}));
}

TEST(Control, a_trusting_one_knows_everybody_but_those_of_a_cluster) {
  const auto trusts = [](const redis::Users& users) { return users.find("anybody") != nullptr; };
  const RedisServer redis;
  Heard heard;
  Control control(at(redis, {}, config::Acl::trust), some_questions(), heard.calls());
  control.start();
  EXPECT_TRUE(heard.users_become(trusts));
  const RedisServer cluster({"--cluster-enabled", "yes"});
  Heard of_cluster;
  Control other(at(cluster, {}, config::Acl::trust), some_questions(), of_cluster.calls());
  other.start();
  EXPECT_TRUE(of_cluster.users_become(std::not_fn(trusts)));
}

TEST(Control, a_trusting_one_sees_a_password_that_it_does_not_have) {
  const RedisServer redis({"--requirepass", "secret"}, "secret");
  for (const char* const password : {"", "secret"}) {
    Heard heard;
    Control control(
        at(redis, {.password = password}, config::Acl::trust), some_questions(), heard.calls());
    control.start();
    EXPECT_TRUE(heard.reading_becomes(needs_password));
  }
}

TEST(Control, ends_at_once_while_it_waits_for_a_redis_that_is_not_there) {
  Heard heard;
  const auto began = std::chrono::steady_clock::now();
  {
    Control control({.address = {.host = "127.0.0.1", .port = harness::free_port()}},
                    some_questions(),
                    heard.calls());
    control.start();
    EXPECT_TRUE(heard.reachable_becomes({false}));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, kPatience);
}

}  // namespace
}  // namespace cuckooguard::upstream
