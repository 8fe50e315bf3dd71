// What the guard learns from writes where nobody will hear whether Redis takes them.

#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "guard/guarded_shop.h"

namespace cuckooguard::guard {
namespace {

using Words = std::vector<std::string_view>;

class GuardUnseenWrites : public testing::Test {
 protected:
  static constexpr std::uint32_t kUsers = GuardedShop::kUsers;

  void log_in(const std::string& user) {
    const redis::StateChange change{
        .kind = redis::ChangeKind::auth, .authenticates = true, .user = user};
    shop_.client.sent(change);
    shop_.client.replied(change, '+');
  }
  void publish() {
    redis::Users users{.unrestricted = {"root"}, .default_needs_no_password = false};
    users.restricted["reader"].namespaces.assign(4, redis::KeyAccess::read_write);
    users.restricted["reader"].may_write = false;
    users.restricted["writer"].namespaces.assign(4, redis::KeyAccess::none);
    shop_.facts.publish_users(shop_.facts.epoch(), users);
  }
  // By a client whose replies are not read any more, and by one that goes.
  std::uint64_t learned_of(std::string_view key) {
    const std::uint64_t before = learned();
    if (gone_) {
      shop_.decide({"SET", key, "x"});
      shop_.guard->ended(shop_.client, shop_.now);
    } else {
      shop_.guard->stop_reading_replies(shop_.client, shop_.now);
      EXPECT_EQ(shop_.decide({"SET", key, "x"}).action, Action::unread);
    }
    return learned() - before;
  }
  std::uint64_t learned() const {
    return shop_.guard->counters(kUsers).learned.value() +
           shop_.guard->counters(GuardedShop::kItems).learned.value();
  }

  GuardedShop shop_;
  bool gone_ = false;
};

TEST_F(GuardUnseenWrites, count_for_whom_redis_would_let_write) {
  for (gone_ = false;; gone_ = true) {
    shop_.client = Client();
    publish();
    EXPECT_EQ(learned_of("user:500"), 0) << "no login where one is needed";
    for (const auto& [user, key, count] : {std::tuple("root", "user:501", 1),
                                           {"reader", "user:502", 0},
                                           {"writer", "user:503", 1},
                                           {"stranger", "user:504", 1}}) {
      shop_.client = Client();
      log_in(user);
      EXPECT_EQ(learned_of(key), count) << user << ' ' << key << ' ' << gone_;
    }
    if (gone_) {
      return;
    }
    shop_.overlays[kUsers]->clear();
  }
}

// Nobody hears whether Redis takes the login, nor what it says to the write.
TEST_F(GuardUnseenWrites, count_behind_a_login_that_was_not_seen) {
  publish();
  for (const Words& login :
       std::vector<Words>{{"AUTH", "root", "x"}, {"HELLO", "3", "AUTH", "root", "x"}, {"RESET"}}) {
    for (const bool is_placed : {false, true}) {
      shop_.client = Client();
      log_in("reader");
      if (is_placed) {
        shop_.send(login);
        gone_ = true;
      } else {
        shop_.guard->stop_reading_replies(shop_.client, shop_.now);
        shop_.decide(login);
        gone_ = false;
      }
      EXPECT_EQ(learned_of("user:500"), 1) << login.front() << is_placed;
      EXPECT_FALSE(shop_.answers_others({"GET", "user:500"}));
    }
  }
}

TEST_F(GuardUnseenWrites, count_as_before_once_the_login_was_refused) {
  publish();
  log_in("reader");
  shop_.send({"AUTH", "root", "x"}, '-');
  EXPECT_EQ(learned_of("user:500"), 0);
}

TEST_F(GuardUnseenWrites, of_who_has_begun_in_a_large_command_to_log_in_count) {
  publish();
  log_in("reader");
  const Words begun{"AUTH", "root"};
  shop_.guard->stream({.begins = true, .argument_total = 3}, begun, shop_.client, shop_.now);
  EXPECT_EQ(learned_of("user:500"), 1);
}

// Redis lets those stay who came before a password was asked for.
TEST_F(GuardUnseenWrites, count_of_who_was_let_in_before_a_login_was_needed) {
  shop_.write({"SET", "user:499", "x"});
  publish();
  EXPECT_EQ(learned_of("user:500"), 1);
  shop_.client = Client();
  shop_.facts.publish_users(shop_.facts.epoch(), {.default_needs_no_password = true});
  shop_.write({"SET", "user:498", "x"});
  shop_.send({"RESET"}, '+');
  publish();
  EXPECT_EQ(learned_of("user:501"), 0) << "RESET has made it somebody who came later";
}

// Else strangers could have users lose what they have written.
TEST_F(GuardUnseenWrites, of_strangers_take_no_users_share) {
  for (int i = 0; i < 60; ++i) {
    shop_.write({"SET", "item:of_default_" + std::to_string(i), "x"});
  }
  redis::Users users{.unrestricted = {"default"}, .default_needs_no_password = false};
  shop_.facts.publish_users(shop_.facts.epoch(), users);
  std::vector<Client> strangers;  // all at once
  for (int stranger = 0; stranger < 10; ++stranger) {
    strangers.push_back(std::exchange(shop_.client, Client()));
    shop_.send({"AUTH", "guessed"});
    shop_.guard->stop_reading_replies(shop_.client, shop_.now);
    for (int i = 0; i < 50; ++i) {  // fewer: of one user it is who has most that loses
      shop_.decide({"SET", "item:" + std::to_string(stranger * 100 + i), "x"});
    }
  }
  shop_.client = Client();
  log_in("default");
  EXPECT_GT(shop_.guard->counters(GuardedShop::kItems).lost.value(), 0);
  EXPECT_FALSE(shop_.answers({"GET", "item:of_default_0"}));
}

TEST_F(GuardUnseenWrites, count_at_once_where_no_reply_is_wanted) {
  shop_.decide({"CLIENT", "REPLY", "OFF"});
  EXPECT_FALSE(shop_.decide({"SET", "user:500", "x"}).awaits_reply);
  EXPECT_FALSE(shop_.answers_others({"GET", "user:500"}));
}

TEST_F(GuardUnseenWrites, count_at_once_where_too_many_are_in_flight) {
  for (std::size_t i = 0; i < WritesInFlight::kKeysMax; ++i) {
    EXPECT_TRUE(shop_.decide({"SET", "item:" + std::to_string(i), "x"}).awaits_reply);
    shop_.client.writes()->await(++shop_.replies);
  }
  EXPECT_FALSE(shop_.decide({"SET", "user:500", "x"}).awaits_reply);
  EXPECT_FALSE(shop_.answers_others({"GET", "user:500"}));
  shop_.reply('-');
  EXPECT_TRUE(shop_.decide({"SET", "user:501", "x"}).awaits_reply);
  EXPECT_EQ(shop_.guard->counters(GuardedShop::kItems).learned.value(), 0);
}

TEST_F(GuardUnseenWrites, of_a_transaction_count_when_its_exec_passes) {
  shop_.send({"MULTI"}, '+');
  shop_.write({"SET", "user:500", "x"});
  EXPECT_EQ(shop_.decide({"QUIT"}).action, Action::unread);
  EXPECT_FALSE(shop_.answers_others({"GET", "user:500"}));
}

}  // namespace
}  // namespace cuckooguard::guard
