// What only operators may do.
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "own_command_client.h"

namespace cuckooguard::guard {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class OperatorCommands : public OwnCommandClient {};

TEST_F(OperatorCommands, only_operators_may_change_a_namespace) {
  const std::string refused =
      "-NOPERM this user has no permissions to run the 'guard.mode' command: it is not listed in "
      "admin.operators\r\n";
  EXPECT_EQ(reply({"GUARD.MODE", "users", "bypass"}), refused);
  EXPECT_THAT(reply({"GUARD.REBUILD", "users"}), StartsWith("-NOPERM "));
  shop_.process.operators.users = {"ops"};
  EXPECT_EQ(reply({"GUARD.MODE", "users", "bypass"}), refused) << "this one is `default`";
  EXPECT_EQ(shop_.spaces[GuardedShop::kUsers].mode.get(), config::Mode::enforce);
  allow({.is_unrestricted = true});
  shop_.send({"AUTH", "ops", "secret"}, '+');
  redis::Users users{.default_needs_no_password = true};
  users.restricted.emplace("ops", redis::UserAccess{.is_unrestricted = true});
  shop_.facts.publish_users(shop_.facts.epoch(), std::move(users));
  EXPECT_EQ(reply({"GUARD.MODE", "users", "bypass"}), "+OK\r\n");
}

TEST_F(OperatorCommands, mode_changes_what_is_done_about_absent_keys) {
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
            "-ERR no such mode: 'off'; use observe, enforce or bypass\r\n");
  EXPECT_EQ(reply({"GUARD.MODE", "nobody", "observe"}), "-ERR no such namespace: 'nobody'\r\n");
  EXPECT_THAT(
      told,
      testing::ElementsAre(
          "default users mode observe", "default users mode enforce", "default users mode bypass"));
}

TEST_F(OperatorCommands, what_was_written_in_bypass_passes_when_it_ends) {
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

TEST_F(OperatorCommands, who_ends_observe_is_told_what_was_seen_in_it) {
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

TEST_F(OperatorCommands, enforce_needs_an_absent_reply) {
  shop_.process.operators.users = {"default"};
  shop_.spaces[GuardedShop::kUsers].mode = config::Mode::observe;
  shop_.spaces[GuardedShop::kUsers].may_enforce = false;
  EXPECT_THAT(reply({"GUARD.MODE", "users", "enforce"}), HasSubstr("requires an absent_reply"));
  EXPECT_EQ(shop_.spaces[GuardedShop::kUsers].mode.get(), config::Mode::observe);
}

TEST_F(OperatorCommands, rebuild_asks_the_source_to_read_the_rows_again) {
  shop_.process.operators.users = {"default"};
  EXPECT_EQ(reply({"GUARD.REBUILD", "nobody"}), "-ERR no such namespace: 'nobody'\r\n");
  EXPECT_FALSE(shop_.filters[GuardedShop::kUsers]->take_rebuild_request());
  EXPECT_EQ(reply({"GUARD.REBUILD", "users"}), "+OK\r\n");
  EXPECT_TRUE(shop_.filters[GuardedShop::kUsers]->take_rebuild_request());
  EXPECT_FALSE(shop_.filters[GuardedShop::kUsers]->take_rebuild_request()) << "once";
  EXPECT_FALSE(shop_.filters[GuardedShop::kItems]->take_rebuild_request());
}

TEST_F(OperatorCommands, clear_forgets_what_was_added_once_the_filter_has_surely_heard_of_it) {
  shop_.process.origins.resize(4);
  shop_.process.origins[GuardedShop::kUsers].max_lag = seconds(1);
  reply({"GUARD.ADD", "user:500", "item:plum"});
  EXPECT_THAT(reply({"GUARD.CLEAR", "users"}), StartsWith("-NOPERM "));
  EXPECT_FALSE(shop_.answers({"GET", "user:500"}));
  shop_.process.operators.users = {"default"};
  EXPECT_EQ(reply({"GUARD.CLEAR", "nobody"}), "-ERR no such namespace: 'nobody'\r\n");
  EXPECT_EQ(reply({"GUARD.CLEAR", "users"}), "+OK\r\n");
  EXPECT_FALSE(shop_.answers({"GET", "user:500"})) << "its row may not have arrived yet";
  EXPECT_FALSE(shop_.answers({"GET", "user:600"}));
  shop_.now += seconds(2);
  shop_.filters[GuardedShop::kUsers]->set_fresh_until(shop_.now + seconds(1));
  shop_.filters[GuardedShop::kItems]->set_fresh_until(shop_.now + seconds(1));
  EXPECT_TRUE(shop_.answers({"GET", "user:500"}));
  EXPECT_FALSE(shop_.answers({"GET", "item:plum"})) << "of another namespace";
}

}  // namespace
}  // namespace cuckooguard::guard
