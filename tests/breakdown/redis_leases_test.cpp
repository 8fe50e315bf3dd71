// Against a real redis-server, with the harness of the integration tests.
#include "breakdown/redis_leases.h"

#include <mutex>

#include <gtest/gtest.h>

#include "harness/deadline.h"
#include "harness/redis_server.h"
#include "redis/slot.h"

namespace cuckooguard::breakdown {
namespace {

using namespace std::chrono_literals;
using harness::eventually;
using Next = guard::Misses::Next;

TEST(LeaseKey, is_in_the_slot_of_its_key_and_says_which_that_is) {
  for (const std::string key :
       {"user:42", "{shop}:user:42", "user:{42}", "a{b", "{}b", "a{", "{a}", "user:42}x{y}"}) {
    const auto lease = lease_key(key);
    if (key == "{}b") {
      EXPECT_FALSE(lease) << "a tag would end at its brace";
      continue;
    }
    ASSERT_TRUE(lease) << key;
    EXPECT_EQ(redis::slot_of(*lease), redis::slot_of(key)) << *lease;
    EXPECT_EQ(key_of_lease(*lease), key);
  }
  EXPECT_EQ(lease_key("user:42"), "cuckooguard:lease:{user:42}");
  EXPECT_NE(lease_key("a"), lease_key("{a}"));
  EXPECT_FALSE(lease_key("a}b"));
  EXPECT_FALSE(lease_key(""));
  EXPECT_EQ(key_of_lease("user:42"), "");
  EXPECT_EQ(key_of_lease("cuckooguard:lease:"), "");
}

// A guard's leases, with clients enough. For them time stands still: where a machine is busy, Redis
// may not answer within kAskMost.
struct Guard {
  Guard(const config::Breakdown& settings, const std::shared_ptr<RedisLeases>& shared, int db = 0)
      : leases(std::make_shared<Leases>(settings,
                                        std::make_shared<Addresses>(filter::random_secret()),
                                        filter::random_secret(),
                                        shared,
                                        db)) {
    for (int i = 0; i < 3; ++i) {
      clients.push_back(leases->connect({}, known, &known));
    }
  }
  bool miss(std::size_t client, std::string_view key) {
    return clients[client]->missed(
        *leases, {leases->hash(key), key}, guard::Misses::May::wait, now);
  }
  // What comes next but to wait.
  Next next(std::size_t client) {
    Next next = Next::wait;
    EXPECT_TRUE(eventually([&] {
      next = clients[client]->next(now);
      return next != Next::wait;
    }));
    return next;
  }
  void write(std::size_t client, std::string_view key) {
    leases->written(leases->hash(key), clients[client].get(), true, now);
  }

  io::TimePoint now = io::now_since_boot();
  std::shared_ptr<guard::KnownReplies> known = std::make_shared<guard::KnownReplies>([] {});
  std::shared_ptr<Leases> leases;
  std::vector<std::unique_ptr<guard::Misses>> clients;
};

// Two guards in front of one Redis.
class RedisLeasesTest : public testing::Test {
 protected:
  // Longer than the tests' patience: what ends a wait, or a lease, is what the test is about.
  static constexpr config::Breakdown kSettings{
      .hold = 600s, .lease = 600s, .scope = config::BreakdownScope::redis};
  static constexpr const char* kLease = "cuckooguard:lease:{a}";

  std::shared_ptr<RedisLeases> connect(const config::Control& control = {}) {
    return std::make_shared<RedisLeases>(
        [this, control](std::string_view /*key*/) -> std::optional<upstream::RedisPlace> {
          config::Upstream settings{
              .address = config::Address{.host = "127.0.0.1", .port = redis_.port()}};
          settings.control = control;
          return upstream::RedisPlace(settings);
        },
        nullptr,
        log_);
  }
  // By one client of `one`.
  void load(Guard& one) {
    ASSERT_TRUE(one.miss(0, "a"));
    ASSERT_EQ(one.next(0), Next::take);
    ASSERT_EQ(redis_.call({"EXISTS", kLease}), ":1\r\n");
  }
  bool is_tracked() const { return redis_.info("stats", "tracking_total_keys") == "2"; }

  std::string told() {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

  harness::RedisServer redis_;
  std::mutex mutex_;
  std::string lines_;
  log::EventLog log_{{},
                     [this](const std::string& line) {
                       const std::lock_guard lock(mutex_);
                       lines_ += line;
                     },
                     io::now_since_boot};
};

TEST_F(RedisLeasesTest, one_guard_loads_and_the_other_hears_of_it) {
  Guard one(kSettings, connect());
  Guard other(kSettings, connect());
  load(one);
  ASSERT_TRUE(other.miss(0, "a"));
  ASSERT_TRUE(eventually([&] { return is_tracked(); }));
  redis_.call({"SET", "a", "1"});
  EXPECT_EQ(other.next(0), Next::ask);
  one.write(0, "a");
  EXPECT_TRUE(eventually([&] { return redis_.call({"EXISTS", kLease}) == ":0\r\n"; }));
  EXPECT_EQ(told(), "");
}

TEST_F(RedisLeasesTest, one_whose_connection_is_lost_meanwhile_is_released_over_another) {
  Guard one(kSettings, connect());
  load(one);
  redis_.call({"CLIENT", "KILL", "TYPE", "normal"});
  ASSERT_TRUE(
      eventually([&] { return redis_.info("clients", "connected_clients") == "1"; }));  // who asks
  one.write(0, "a");
  EXPECT_TRUE(eventually([&] { return redis_.call({"EXISTS", kLease}) == ":0\r\n"; }));
}

TEST_F(RedisLeasesTest, when_the_loading_client_goes_the_other_guard_takes_over) {
  Guard one(kSettings, connect());
  Guard other(kSettings, connect());
  load(one);
  ASSERT_TRUE(other.miss(0, "a"));
  ASSERT_TRUE(eventually([&] { return is_tracked(); }));
  one.clients[0]->gone(one.now);
  EXPECT_EQ(other.next(0), Next::take);
}

TEST_F(RedisLeasesTest, a_key_that_is_there_by_now_is_read_again_and_leaves_no_lease) {
  Guard one(kSettings, connect());
  redis_.call({"SET", "a", "1"});
  ASSERT_TRUE(one.miss(0, "a"));
  EXPECT_EQ(one.next(0), Next::ask);
  EXPECT_TRUE(eventually([&] { return redis_.call({"EXISTS", kLease}) == ":0\r\n"; }));
}

TEST_F(RedisLeasesTest, leases_are_in_the_database_of_their_keys) {
  Guard one(kSettings, connect(), 3);
  ASSERT_TRUE(one.miss(0, "a"));
  ASSERT_EQ(one.next(0), Next::take);
  EXPECT_EQ(redis_.call({"EXISTS", kLease}), ":0\r\n");
  harness::RawClient third = redis_.client();
  third.call({"SELECT", "3"});
  EXPECT_EQ(third.call({"EXISTS", kLease}), ":1\r\n");
}

TEST_F(RedisLeasesTest, a_lost_connection_has_who_waits_ask_and_the_next_ask_connects_again) {
  Guard one(kSettings, connect());
  Guard other(kSettings, connect());
  load(one);
  ASSERT_TRUE(other.miss(0, "a"));
  ASSERT_TRUE(eventually([&] { return is_tracked(); }));
  redis_.call({"CLIENT", "KILL", "TYPE", "normal"});
  EXPECT_EQ(other.next(0), Next::ask);
  ASSERT_TRUE(other.miss(0, "a")) << "it is still nil";
  EXPECT_TRUE(eventually([&] { return is_tracked(); }));
  redis_.call({"SET", "a", "1"});
  EXPECT_EQ(other.next(0), Next::ask);
}

TEST_F(RedisLeasesTest, where_redis_does_not_push_it_is_asked_every_20_ms) {
  redis_.call({"ACL", "SETUSER", "guard", "on", ">word", "~*", "+set", "+exists", "+del"});
  Guard one(kSettings, connect());
  Guard other(kSettings, connect({.username = "guard", .password = "word"}));
  load(one);
  ASSERT_TRUE(other.miss(0, "a"));
  guard::Misses& waiter = *other.clients[0];
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(eventually([&] {
      return waiter.next(other.now) == Next::wait && waiter.until() != other.now + Leases::kAskMost;
    })) << "an answer";
    ASSERT_LE(waiter.until(), io::now_since_boot() + Leases::kAskEvery);
    other.now = waiter.until();
  }
  redis_.call({"SET", "a", "1"});
  EXPECT_EQ(other.next(0), Next::ask);
  EXPECT_NE(told().find("event=leases_trouble"), std::string::npos) << told();
}

TEST_F(RedisLeasesTest, what_redis_refuses_is_loaded_by_each_guard) {
  redis_.call({"ACL", "SETUSER", "guard", "on", ">word", "~*", "+exists"});
  Guard one(kSettings, connect({.username = "guard", .password = "word"}));
  ASSERT_TRUE(one.miss(0, "a"));
  EXPECT_EQ(one.next(0), Next::take);
  Guard other(kSettings, connect({.username = "guard", .password = "wrong"}));
  ASSERT_TRUE(other.miss(0, "a"));
  EXPECT_EQ(other.next(0), Next::take);
  EXPECT_NE(told().find("NOPERM"), std::string::npos) << told();
  EXPECT_NE(told().find("WRONGPASS"), std::string::npos) << told();
}

}  // namespace
}  // namespace cuckooguard::breakdown
