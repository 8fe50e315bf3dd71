#include "upstream/control.h"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "harness/ports.h"
#include "harness/redis_server.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::upstream {
namespace {

using harness::RedisServer;

constexpr std::chrono::seconds kPatience{30};

struct FactsCase {
  const char* what;
  AclUser user;
  bool unrestricted;
  bool needs_no_password;
};

class FactsOf : public ::testing::TestWithParam<FactsCase> {};

TEST_P(FactsOf, are_what_acl_getuser_says) {
  const UserFacts facts = facts_of("u", GetParam().user);
  EXPECT_EQ(facts.name, "u");
  EXPECT_EQ(facts.unrestricted, GetParam().unrestricted) << GetParam().what;
  EXPECT_EQ(facts.needs_no_password, GetParam().needs_no_password) << GetParam().what;
}

INSTANTIATE_TEST_SUITE_P(
    Users,
    FactsOf,
    ::testing::Values(
        FactsCase{"default of Redis 7",
                  {{"on", "nopass", "sanitize-payload"}, "+@all", {"~*"}},
                  true,
                  true},
        FactsCase{"default of Redis 6", {{"on", "allkeys", "nopass"}, "+@all", {"*"}}, true, true},
        FactsCase{"with a password", {{"on"}, "+@all", {"~*"}}, true, false},
        FactsCase{"off", {{"off", "nopass"}, "+@all", {"~*"}}, false, false},
        FactsCase{"one prefix", {{"on", "nopass"}, "+@all", {"~app:*"}}, false, true},
        FactsCase{"reads only", {{"on", "nopass"}, "+@all", {"%R~*"}}, false, true},
        FactsCase{"no keys", {{"on", "nopass"}, "+@all", {""}}, false, true},
        FactsCase{"one command less", {{"on", "nopass"}, "+@all -debug", {"~*"}}, false, true},
        FactsCase{"some commands", {{"on", "nopass"}, "-@all +get", {"~*"}}, false, true},
        FactsCase{"no commands", {{"on", "nopass"}, "-@all", {"~*"}}, false, true},
        FactsCase{"nothing known", {}, false, false}));

// What a Control has said, and waiting for it.
class Heard {
 public:
  Control::Calls calls() {
    return {.on_users =
                [this](std::vector<UserFacts> users) {
                  const std::lock_guard lock(mutex_);
                  users_ = std::move(users);
                  changed_.notify_all();
                },
            .on_reachable =
                [this](bool reachable, const std::string& why) {
                  const std::lock_guard lock(mutex_);
                  reachable_.push_back(reachable);
                  why_ = why;
                  changed_.notify_all();
                }};
  }

  // The users once they are told, and `accept` takes them.
  template <typename Accept>
  bool users_become(const Accept& accept) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return users_ && accept(*users_); });
  }
  bool reachable_becomes(const std::vector<bool>& history) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return reachable_ == history; });
  }
  bool any_users() {
    const std::lock_guard lock(mutex_);
    return users_.has_value();
  }
  std::string why() {
    const std::lock_guard lock(mutex_);
    return why_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<std::vector<UserFacts>> users_;
  std::vector<bool> reachable_;
  std::string why_;
};

config::Upstream at(const RedisServer& redis, config::Control control = {}) {
  return {.address = {.host = "127.0.0.1", .port = redis.port()}, .control = std::move(control)};
}

bool is_open_default(const std::vector<UserFacts>& users) {
  return users.size() == 1 && users[0].name == "default" && users[0].unrestricted &&
         users[0].needs_no_password;
}
bool is_default_with_password(const std::vector<UserFacts>& users) {
  return users.size() == 1 && users[0].unrestricted && !users[0].needs_no_password;
}
bool is_restricted_default(const std::vector<UserFacts>& users) {
  return users.size() == 1 && users[0].name == "default" && !users[0].unrestricted;
}
bool is_nobody(const std::vector<UserFacts>& users) {
  return users.empty();
}

TEST(Control, the_default_user_of_a_fresh_redis_may_do_everything_without_a_password) {
  const RedisServer redis;
  Heard heard;
  Control control(at(redis), heard.calls());
  control.start();
  EXPECT_TRUE(heard.users_become(is_open_default));
  EXPECT_TRUE(heard.reachable_becomes({true}));
}

TEST(Control, speaks_over_a_unix_socket_too) {
  const RedisServer redis;
  Heard heard;
  Control control({.address = {.unix_path = redis.unix_path().string()}}, heard.calls());
  control.start();
  EXPECT_TRUE(heard.users_become(is_open_default));
}

TEST(Control, nobody_is_known_to_who_may_not_ask) {
  const RedisServer redis({"--requirepass", "secret"}, "secret");
  Heard heard;
  Control control(at(redis), heard.calls());
  control.start();
  EXPECT_TRUE(heard.users_become(is_nobody));
}

TEST(Control, a_password_opens_the_door_and_the_default_user_still_needs_one) {
  const RedisServer redis({"--requirepass", "secret"}, "secret");
  Heard heard;
  Control control(at(redis, {.password = "secret"}), heard.calls());
  control.start();
  EXPECT_TRUE(heard.users_become(is_default_with_password));
}

TEST(Control, the_password_is_read_from_its_file_at_each_connect) {
  const RedisServer redis({"--requirepass", "secret"}, "secret");
  const harness::TemporaryDirectory directory;
  harness::write_whole_file(directory / "password", "wrong\n");
  Heard heard;
  Control control(at(redis, {.password_file = (directory / "password").string()}), heard.calls());
  control.start();
  EXPECT_TRUE(heard.reachable_becomes({false}));
  harness::write_whole_file(directory / "password", "secret\n");
  EXPECT_TRUE(heard.users_become(is_default_with_password));
}

TEST(Control, asks_as_the_user_it_is_given) {
  const RedisServer redis({"--user", "ops", "on", ">pass", "+acl|getuser"});
  Heard heard;
  Control control(at(redis, {.username = "ops", .password = "pass"}), heard.calls());
  control.start();
  EXPECT_TRUE(heard.users_become(is_open_default));
}

TEST(Control, a_wrong_password_is_told_with_redis_own_words_and_nobody_is_known) {
  const RedisServer redis({"--requirepass", "secret"}, "secret");
  Heard heard;
  Control control(at(redis, {.password = "guess"}), heard.calls());
  control.start();
  EXPECT_TRUE(heard.reachable_becomes({false}));
  EXPECT_NE(heard.why().find("WRONGPASS"), std::string::npos) << heard.why();
  EXPECT_FALSE(heard.any_users());
}

TEST(Control, a_restricted_default_user_is_not_unrestricted) {
  const RedisServer redis({"--user", "default", "on", "nopass", "~app:*", "&*", "+@all"});
  Heard heard;
  Control control(at(redis), heard.calls());
  control.start();
  EXPECT_TRUE(heard.users_become(is_restricted_default));
}

TEST(Control, a_change_is_seen_when_it_is_asked_for) {
  const RedisServer redis;
  Heard heard;
  Control control(at(redis), heard.calls());
  control.start();
  ASSERT_TRUE(heard.users_become(is_open_default));
  redis.call({"ACL", "SETUSER", "default", "-debug"});
  const auto asked = std::chrono::steady_clock::now();
  control.refresh();
  EXPECT_TRUE(heard.users_become(is_restricted_default));
  EXPECT_LT(std::chrono::steady_clock::now() - asked, Control::kEvery);
}

TEST(Control, a_redis_that_was_restarted_is_asked_again) {
  RedisServer redis;
  Heard heard;
  Control control(at(redis), heard.calls());
  control.start();
  ASSERT_TRUE(heard.users_become(is_open_default));
  redis.kill();
  control.refresh();
  EXPECT_TRUE(heard.reachable_becomes({true, false}));
  EXPECT_TRUE(heard.users_become(is_open_default));  // the last answer stands
  redis.start_again();
  EXPECT_TRUE(heard.reachable_becomes({true, false, true}));
}

TEST(Control, ends_at_once_while_it_waits_for_a_redis_that_is_not_there) {
  Heard heard;
  const auto began = std::chrono::steady_clock::now();
  {
    Control control({.address = {.host = "127.0.0.1", .port = harness::free_port()}},
                    heard.calls());
    control.start();
    EXPECT_TRUE(heard.reachable_becomes({false}));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, kPatience);
}

}  // namespace
}  // namespace cuckooguard::upstream
