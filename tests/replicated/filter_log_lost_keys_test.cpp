// What becomes of a FilterLog of which Redis has lost one key, or may lose any.
#include <chrono>
#include <functional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "logged_guard.h"
#include "replicated/filter_log.h"

namespace cuckooguard::replicated {
namespace {

using testing::HasSubstr;

constexpr std::chrono::milliseconds kNoPause{0};
const std::string kLock = "{cuckooguard:filters}:lock";

std::string piece(int set) {
  return "{cuckooguard:filters}:snapshot:" + std::to_string(set) + ":0";
}

// How the log is when a key is lost.
struct As {
  const char* name;
  std::uint64_t snapshots;
  bool has_entries_behind;
};

class LostKeys : public testing::TestWithParam<As> {
 protected:
  static FilterLog::Settings settings() {
    return {.snapshot_entries = 5, .snapshot_every = kNoPause};
  }

  void add() { ASSERT_TRUE(is_done(guard_.add_if_new(numbered(items_++)))); }
  void come_there() {
    add();
    for (std::uint64_t i = 0; i < GetParam().snapshots; ++i) {
      const std::uint64_t before = guard_.status().snapshot_seq;
      ASSERT_TRUE(eventually([&] {
        add();
        return guard_.status().snapshot_seq > before;
      }));
    }
    if (GetParam().has_entries_behind) {
      add();
    }
  }
  void expect_all(const LoggedGuard& guard) const {
    for (std::size_t i = 0; i < items_; ++i) {
      EXPECT_TRUE(guard.has(numbered(i))) << i;
    }
  }

  RedisServer redis_;
  LoggedGuard guard_{redis_, settings()};
  std::size_t items_ = 0;
};

TEST_P(LostKeys, but_the_one_that_names_the_generation_are_made_up_for) {
  come_there();
  for (const std::string& key : {kLog, kLock, piece(0), piece(1)}) {
    redis_.call({"DEL", key});
    LoggedGuard newcomer(redis_, settings());
    ASSERT_TRUE(newcomer.catches_up_with(guard_)) << key << ": " << newcomer.status().why;
    expect_all(newcomer);
    EXPECT_EQ(newcomer.generations(), 1) << key;
    expect_all(guard_);
    add();
  }
  EXPECT_EQ(guard_.generations(), 1);
}

TEST_P(LostKeys, the_generations_name_is_the_beginning_of_another_one) {
  come_there();
  redis_.call({"DEL", kMeta});
  ASSERT_TRUE(eventually([&] { return guard_.generations() == 2; })) << guard_.status().why;
  LoggedGuard newcomer(redis_, settings());
  ASSERT_TRUE(newcomer.catches_up_with(guard_));
  EXPECT_TRUE(is_done(guard_.add_if_new(numbered(0))));
  ASSERT_TRUE(newcomer.catches_up_with(guard_));
  EXPECT_TRUE(newcomer.has(numbered(0)));
}

INSTANTIATE_TEST_SUITE_P(FilterLog,
                         LostKeys,
                         testing::Values(As{"without_snapshot", 0, true},
                                         As{"at_a_snapshot", 1, false},
                                         As{"behind_a_snapshot", 1, true},
                                         As{"behind_the_second", 2, true}),
                         [](const auto& each) { return each.param.name; });

TEST(FilterLogLostKeys, flushing_again_and_again_makes_no_guard_wait_for_longer_each_time) {
  const RedisServer redis;
  const LoggedGuard guard(redis);
  ASSERT_TRUE(guard.becomes(State::ready));
  for (int round = 0; round < 12; ++round) {
    const int before = guard.generations();
    redis.call({"FLUSHALL"});
    const auto flushed_at = harness::SteadyClock::now();
    ASSERT_TRUE(eventually([&] { return guard.generations() > before && guard.is_current(); }));
    EXPECT_LT(harness::SteadyClock::now() - flushed_at, std::chrono::milliseconds(1000)) << round;
  }
}

TEST(FilterLogLostKeys, a_redis_that_may_evict_them_is_refused_as_long_as_it_may) {
  const RedisServer redis;
  LoggedGuard guard(redis);
  ASSERT_TRUE(is_done(guard.add_if_new("a")));
  redis.call({"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"});
  EXPECT_TRUE(is_done(guard.add_if_new("b"))) << "without maxmemory it evicts nothing";
  redis.call({"CONFIG", "SET", "maxmemory", "100mb"});
  ASSERT_TRUE(guard.becomes(State::lost));
  EXPECT_FALSE(guard.is_current());
  EXPECT_THAT(guard.status().why, HasSubstr("maxmemory-policy is allkeys-*"));
  EXPECT_EQ(guard.add_if_new("c").status, Outcome::Status::not_in_log);
  redis.call({"CONFIG", "SET", "maxmemory-policy", "volatile-lru"});
  ASSERT_TRUE(guard.becomes(State::ready)) << guard.status().why;
  EXPECT_TRUE(guard.has("a") && guard.has("b"));
  EXPECT_TRUE(is_done(guard.add_if_new("c")));
  EXPECT_EQ(guard.generations(), 1);
}

}  // namespace
}  // namespace cuckooguard::replicated
