// While Redis refuses reads, or holds them back, the guard does not answer for it; it resumes when
// Redis does.

#include <csignal>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/ports.h"
#include "harness/redis_command.h"
#include "harness/shop.h"

namespace cuckooguard::harness {
namespace {

class RedisStates : public testing::Test {
 protected:
  RedisStates() { shop_.wait_until_it_answers(); }

  bool resumes() {
    return eventually(
        [this] { return shop_.client().exchange(get_absent(), 1) == absent_reply(); });
  }
  // What Redis says, the guard's client is told, byte for byte.
  void expect_refused_as_by_redis(std::string_view code) {
    EXPECT_TRUE(
        eventually([&] { return shop_.client().exchange(get_absent(), 1).starts_with(code); }));
    RawClient straight = shop_.redis().client();
    const std::string refusal = straight.exchange(get_absent(), 1);
    EXPECT_TRUE(refusal.starts_with(code)) << shown(refusal);
    EXPECT_EQ(shop_.client().exchange(get_absent(), 1), refusal);
  }

  // Clients of the role before are closed then.
  bool role_is_seen(std::size_t changes) const {
    return eventually(
        [&] { return count_in(shop_.guard().log(), "event=upstream_changed") == changes; });
  }

  Shop shop_;
  RawClient client_ = shop_.client();
};

TEST_F(RedisStates, a_replica_without_its_master_is_not_answered_for) {
  RawClient admin = shop_.redis().client();
  admin.call({"CONFIG", "SET", "replica-serve-stale-data", "no"});
  admin.call({"REPLICAOF", "127.0.0.1", std::to_string(free_port())});
  ASSERT_TRUE(role_is_seen(1)) << shop_.guard().log();
  expect_refused_as_by_redis("-MASTERDOWN");
  admin.call({"REPLICAOF", "NO", "ONE"});
  ASSERT_TRUE(role_is_seen(2)) << shop_.guard().log();
  EXPECT_TRUE(resumes());
}

TEST_F(RedisStates, a_replica_that_serves_stale_data_is) {
  RawClient admin = shop_.redis().client();
  admin.call({"REPLICAOF", "127.0.0.1", std::to_string(free_port())});
  ASSERT_TRUE(role_is_seen(1)) << shop_.guard().log();
  EXPECT_TRUE(resumes());
  EXPECT_EQ(shop_.client().exchange(get_absent(), 1), absent_reply());
}

// After a failover. Who was connected before it is closed, and resolves the name anew
// (integration/redis_moves_test.cpp).
TEST_F(RedisStates, a_write_to_a_replica_is_refused_in_redis_words_and_reads_are_still_guarded) {
  shop_.redis().call({"SET", user(1), "one"});
  RawClient admin = shop_.redis().client();
  EXPECT_EQ(admin.call({"REPLICAOF", "127.0.0.1", std::to_string(free_port())}), kOk);
  ASSERT_TRUE(
      eventually([&] { return count_in(shop_.guard().log(), "event=upstream_changed") == 1; }));
  ASSERT_TRUE(resumes());
  RawClient client = shop_.client();
  RawClient straight = shop_.redis().client();
  const std::string writes = command({"SET", user(1), "two"}) + command({"GET", user(1)}) +
                             command({"MULTI"}) + command({"DEL", user(1)}) + command({"EXEC"});
  const std::string refused = straight.exchange(writes, 5);
  EXPECT_TRUE(refused.starts_with("-READONLY ")) << shown(refused);
  EXPECT_TRUE(refused.contains("\r\n-EXECABORT ")) << shown(refused);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(client.exchange(writes, 5), refused);
    EXPECT_EQ(client.exchange(get_absent(), 1), absent_reply());
  }
  EXPECT_EQ(admin.call({"REPLICAOF", "NO", "ONE"}), kOk);
  EXPECT_TRUE(eventually([&] {
    return count_in(shop_.guard().log(), "event=upstream_changed") == 2;
  })) << shop_.guard().log();
  EXPECT_EQ(shop_.client().call({"SET", user(1), "two"}), kOk);
}

TEST_F(RedisStates, a_redis_that_runs_a_script_for_too_long_is_not_answered_for) {
  RawClient admin = shop_.redis().client();
  admin.call({"CONFIG", "SET", "busy-reply-threshold", "10"});
  RawClient script = shop_.redis().client();
  script.send(command({"EVAL", "while true do end", "0"}));
  // Whoever is told first has the guard ask.
  RawClient other = shop_.client();
  EXPECT_TRUE(eventually(
      [&] { return other.exchange(command({"GET", "other:1"}), 1).starts_with("-BUSY"); }));
  EXPECT_TRUE(eventually([&] { return client_.exchange(get_absent(), 1).starts_with("-BUSY"); }));
  EXPECT_TRUE(eventually([&] { return admin.call({"SCRIPT", "KILL"}) == kOk; }));
  EXPECT_TRUE(resumes());
}

TEST_F(RedisStates, a_pause_seen_on_the_wire_holds_reads_back_as_redis_does) {
  RawClient admin = shop_.client();
  EXPECT_EQ(admin.call({"CLIENT", "PAUSE", "700"}), kOk);
  const auto began = SteadyClock::now();
  const std::string reply = client_.exchange(get_absent(), 1);
  EXPECT_TRUE(reply == kNil || reply == absent_reply()) << "whoever is asked when Redis resumes";
  EXPECT_GT(SteadyClock::now() - began, milliseconds(400));
  EXPECT_TRUE(resumes());
}

TEST_F(RedisStates, a_pause_of_writes_does_not_hold_reads_back) {
  RawClient admin = shop_.client();
  EXPECT_EQ(admin.call({"CLIENT", "PAUSE", "100000", "WRITE"}), kOk);
  EXPECT_EQ(client_.exchange(get_absent(), 1), absent_reply());
  EXPECT_EQ(admin.call({"CLIENT", "UNPAUSE"}), kOk);
}

TEST_F(RedisStates, a_pause_that_redis_refuses_is_none) {
  RawClient admin = shop_.client();
  EXPECT_TRUE(admin.call({"CLIENT", "PAUSE", "never"}).starts_with("-ERR"));
  const auto began = SteadyClock::now();
  EXPECT_TRUE(resumes());
  EXPECT_LT(SteadyClock::now() - began, milliseconds(4000));
}

// GETEX is a write to Redis, also of a key that is not there.
class RedisThatRefusesWrites : public testing::Test {
 protected:
  void expect_refused_as_by_redis(std::string_view code) {
    const std::string straight = shop_.redis().client().call({"GETEX", absent_user()});
    EXPECT_TRUE(straight.starts_with(code)) << shown(straight);
    EXPECT_TRUE(eventually([&] { return client_.call({"GETEX", absent_user()}) == straight; }));
    EXPECT_EQ(client_.call({"GETEX", absent_user(), "PX", "1000"}), straight);
    EXPECT_EQ(client_.exchange(get_absent(), 1), absent_reply()) << "what is no write is answered";
  }
  bool is_answered_again() {
    return eventually([&] { return client_.call({"GETEX", absent_user()}) == absent_reply(); });
  }

  Shop shop_{{.redis_arguments = {"--enable-protected-configs", "yes"}}};
  RawClient client_ = shop_.client();
};

TEST_F(RedisThatRefusesWrites, for_want_of_replicas_says_so_to_a_getex) {
  ASSERT_TRUE(is_answered_again());
  shop_.redis().call({"CONFIG", "SET", "min-replicas-to-write", "1"});
  expect_refused_as_by_redis("-NOREPLICAS ");
  shop_.redis().call({"CONFIG", "SET", "min-replicas-to-write", "0"});
  EXPECT_TRUE(is_answered_again());
}

TEST_F(RedisThatRefusesWrites, for_a_snapshot_that_failed_says_so_to_a_getex) {
  ASSERT_TRUE(is_answered_again());
  ASSERT_EQ(shop_.redis().call({"CONFIG", "SET", "dir", "/proc"}),
            kOk);  // nothing can be made there
  ASSERT_EQ(shop_.redis().call({"CONFIG", "SET", "save", "3600 1"}), kOk);
  shop_.redis().call({"BGSAVE"});
  ASSERT_TRUE(eventually(
      [&] { return shop_.redis().info("persistence", "rdb_last_bgsave_status") == "err"; }));
  expect_refused_as_by_redis("-MISCONF ");
}

// Loading for long enough to be seen: every key of the file takes a while.
TEST_F(RedisStates, a_redis_that_loads_is_not_answered_for) {
  RawClient admin = shop_.redis().client();
  admin.call({"DEBUG", "POPULATE", "2000"});
  ASSERT_EQ(admin.call({"SAVE"}), kOk);
  shop_.redis().kill();
  shop_.redis().start_again_as(
      {"--key-load-delay", "1000", "--loading-process-events-interval-bytes", "1024"}, "");
  RawClient client = shop_.client();
  EXPECT_TRUE(client.call({"GET", user(1)}).starts_with("-LOADING"));
  RawClient straight = shop_.redis().client();
  const std::string refusal = straight.exchange(get_absent(), 1);
  ASSERT_TRUE(refusal.starts_with("-LOADING")) << shown(refusal);
  EXPECT_EQ(client.exchange(get_absent(), 1), refusal);
  EXPECT_TRUE(resumes());
}

// Back as another: what was known of the old one is not used for those who reach the new one.
TEST(RedisThatComesBack, with_a_password_is_not_answered_for_by_what_was_known_before) {
  Shop shop;
  shop.wait_until_it_answers();
  for (int round = 0; round < 5; ++round) {
    shop.redis().kill();
    RawClient down = shop.client();
    EXPECT_EQ(down.exchange(get_absent(), 1), absent_reply()) << "answered while Redis is down";
    down.close();
    shop.redis().start_again_as({"--requirepass", "word"}, "word");
    // Its own connection stands, so that Redis has its say.
    RawClient client = shop.client();
    EXPECT_TRUE(client.call({"PING"}).starts_with("-NOAUTH"));
    EXPECT_TRUE(client.exchange(get_absent(), 1).starts_with("-NOAUTH")) << round;
    client.close();
    shop.redis().kill();
    shop.redis().start_again_as({}, "");
    ASSERT_TRUE(eventually([&shop] {
      try {
        return shop.client().exchange(get_absent(), 1) == absent_reply();
      } catch (const std::exception&) {  // a connection to the Redis that is gone
        return false;
      }
    }));
  }
}

// Of the guard, by the command that the image's health check is made of.
Ended ping(std::uint16_t port, std::vector<std::string> flags) {
  std::vector<std::string> words{"ping", "127.0.0.1:" + std::to_string(port)};
  words.insert(words.end(), flags.begin(), flags.end());
  return run_guard(std::move(words));
}

void expect_alive(const Shop& shop, std::string_view while_what) {
  const Ended alive = ping(shop.guard().port(), {"--alive"});
  EXPECT_EQ(alive.exit_code, 0) << while_what << ": " << alive.standard_error;
  EXPECT_EQ(alive.standard_output, "PONG\n") << while_what;
}

TEST(Alive, says_the_guard_in_whatever_state_redis_is) {
  Shop shop;
  shop.wait_until_it_answers();
  expect_alive(shop, "all is well");
  ::kill(shop.redis().pid(), SIGSTOP);
  expect_alive(shop, "Redis hangs");
  EXPECT_EQ(ping(shop.guard().port(), {"--timeout", "100ms"}).exit_code, 1) << "it is forwarded";
  ::kill(shop.redis().pid(), SIGCONT);
  shop.redis().kill();
  for (int i = 0; i < 10; ++i) {
    expect_alive(shop, "Redis is down");
  }
  EXPECT_EQ(ping(shop.guard().port(), {}).exit_code, 1) << "it is forwarded";
  shop.redis().start_again_as({"--requirepass", "word"}, "word");
  expect_alive(shop, "it has come back with a password");
  EXPECT_TRUE(eventually([&] { return shop.client().call({"PING"}).starts_with("-NOAUTH"); }));
  expect_alive(shop, "clients must log in, and the guard's own connection may not");
}

TEST(Alive, says_a_guard_whose_redis_has_never_been_there) {
  const Shop shop({.upstream = "127.0.0.1:" + std::to_string(free_port())});
  expect_alive(shop, "nobody listens");
}

TEST(Alive, says_a_guard_whose_users_are_restricted) {
  const Shop shop(
      {.control = "password: word",
       .redis_arguments = {"--requirepass", "word", "--user", "app", "on", ">app", "~*", "+get"},
       .password = "word"});
  expect_alive(shop, "clients must log in");
}

TEST(Alive, says_a_guard_or_a_redis_that_takes_no_more_clients) {
  const Shop full({.more = "limits: { max_clients: 1 }\n"});
  const RawClient only = full.client();
  EXPECT_TRUE(eventually([&] {
    const Ended alive = ping(full.guard().port(), {"--alive"});
    EXPECT_EQ(alive.exit_code, 0) << alive.standard_error;
    return alive.standard_output == "ERR max number of clients reached\n";
  }));
  Shop shop;
  shop.redis().call({"CONFIG", "SET", "maxclients", "1"});
  EXPECT_EQ(ping(shop.guard().port(), {"--alive"}).exit_code, 0);
}

TEST(Alive, says_not_a_guard_that_hangs_nor_one_that_is_gone_nor_a_redis) {
  Shop shop;
  EXPECT_THAT(ping(shop.redis().port(), {"--alive"}).standard_error,
              testing::HasSubstr("not a guard, or too old for --alive: ERR unknown command"));
  shop.guard().send_signal(SIGSTOP);
  ASSERT_TRUE(eventually([&] { return is_stopped(shop.guard().pid()); }));
  const auto began = SteadyClock::now();
  const Ended hanging = ping(shop.guard().port(), {"--alive", "--timeout", "200ms"});
  EXPECT_EQ(hanging.exit_code, 1);
  EXPECT_LT(SteadyClock::now() - began, milliseconds(5000));
  shop.guard().send_signal(SIGCONT);
  expect_alive(shop, "it goes on");
  shop.guard().send_signal(SIGTERM);
  ASSERT_EQ(shop.guard().exit_code(), 0);
  EXPECT_EQ(ping(shop.guard().port(), {"--alive"}).exit_code, 1);
}

}  // namespace
}  // namespace cuckooguard::harness
