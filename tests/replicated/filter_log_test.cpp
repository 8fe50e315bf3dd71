#include "replicated/filter_log.h"

#include <array>
#include <atomic>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "logged_guard.h"

namespace cuckooguard::replicated {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using Status = Outcome::Status;

constexpr std::size_t kClients = 16;

// One guard or another, which may be replaced while others use it.
class Fleet {
 public:
  Fleet(const RedisServer& redis, FilterLog::Settings settings)
      : redis_(redis), settings_(std::move(settings)) {
    for (std::size_t i = 0; i < guards_.size(); ++i) {
      replace(i);
    }
  }

  std::shared_ptr<LoggedGuard> at(std::size_t number) {
    const std::lock_guard lock(mutex_);
    return guards_.at(number % guards_.size());
  }
  void replace(std::size_t number) {
    auto next = std::make_shared<LoggedGuard>(redis_, settings_);
    const std::lock_guard lock(mutex_);
    guards_.at(number).swap(next);
  }
  void expect_to_be_the_same() {
    for (std::size_t i = 1; i < guards_.size(); ++i) {
      EXPECT_TRUE(at(i)->catches_up_with(*at(0))) << at(i)->status().why;
      EXPECT_TRUE(at(0)->catches_up_with(*at(i))) << at(0)->status().why;
    }
    for (std::size_t i = 1; i < guards_.size(); ++i) {
      EXPECT_EQ(at(i)->dump(), at(0)->dump()) << i;
    }
  }

 private:
  const RedisServer& redis_;
  FilterLog::Settings settings_;
  std::mutex mutex_;
  std::array<std::shared_ptr<LoggedGuard>, 4> guards_;
};

// What all clients were told of each item.
class Race {
 public:
  explicit Race(std::size_t items) : done_(items), seen_(items), unknown_(items) {}

  // Until Redis has it, for sure.
  void add(std::size_t item, Fleet& fleet, std::size_t client) {
    for (std::size_t i = client;; ++i) {
      const Outcome outcome = fleet.at(i)->add_if_new(numbered(item));
      if (is_done(outcome) || is_not_new(outcome)) {
        ++(is_done(outcome) ? done_ : seen_).at(item);
        ++finished_;
        return;
      }
      unknown_.at(item) += outcome.status == Status::unknown ? 1 : 0;
      // Leaves the core to those that bring it back.
      std::this_thread::yield();
    }
  }
  void run(Fleet& fleet) {
    std::vector<std::jthread> clients;
    for (std::size_t client = 0; client < kClients; ++client) {
      clients.emplace_back([this, client, &fleet] {
        for (std::size_t i = 0; i < done_.size(); ++i) {
          add(client % 2 == 0 ? i : done_.size() - 1 - i, fleet, client);
        }
      });
    }
  }

  std::size_t finished() const { return finished_; }
  std::size_t all() const { return done_.size() * kClients; }
  void expect_one_each(Fleet& fleet) const {
    for (std::size_t i = 0; i < done_.size(); ++i) {
      EXPECT_LE(done_[i], 1) << i;
      EXPECT_GE(done_[i] + unknown_[i], 1) << i;
      EXPECT_TRUE(fleet.at(0)->has(numbered(i))) << i;
    }
  }

 private:
  std::vector<std::atomic<int>> done_;
  std::vector<std::atomic<int>> seen_;
  std::vector<std::atomic<int>> unknown_;
  std::atomic<std::size_t> finished_{0};
};

TEST(FilterLog, of_all_who_add_an_item_one_is_told_that_it_is_new) {
  const RedisServer redis;
  Fleet fleet(redis, {});
  Race race(200);
  race.run(fleet);
  fleet.expect_to_be_the_same();
  race.expect_one_each(fleet);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(fleet.at(i)->troubles(), "");
    EXPECT_EQ(fleet.at(i)->status().rereads, 0U);
  }
}

TEST(FilterLog, nothing_that_was_acknowledged_is_lost_with_redis_or_a_guard) {
  RedisServer redis({"--appendonly", "yes", "--appendfsync", "always"});
  Fleet fleet(redis, {.snapshot_entries = 100, .snapshot_every = std::chrono::milliseconds(100)});
  Race race(200);
  std::jthread clients([&] { race.run(fleet); });
  for (std::size_t round = 0; round < 4; ++round) {
    EXPECT_TRUE(eventually([&] { return race.finished() > (round + 1) * race.all() / 6; }));
    redis.kill();
    redis.start_again();
    fleet.replace(round);
  }
  clients.join();
  fleet.expect_to_be_the_same();
  race.expect_one_each(fleet);
}

TEST(FilterLog, a_generation_begins_once_however_many_guards_do) {
  const RedisServer redis;
  Fleet fleet(redis, {});
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(fleet.at(i)->becomes(State::ready));
    EXPECT_TRUE(eventually([&] { return fleet.at(i)->generations() == 1; }));
  }
  EXPECT_EQ(fleet.at(0)->status().generation, fleet.at(3)->status().generation);
}

TEST(FilterLog, is_trimmed_behind_a_snapshot_from_which_a_newcomer_begins) {
  const RedisServer redis;
  LoggedGuard guard(redis,
                    {.snapshot_entries = 50, .snapshot_every = std::chrono::milliseconds(0)});
  // Of more than one piece.
  EXPECT_EQ(guard
                .call({.kind = Operation::Kind::create,
                       .filter = "seen",
                       .shape = {.kind = filled::Kind::cuckoo, .capacity = 2'000'000}})
                .status,
            Status::done);
  std::size_t items = 0;
  const auto add_until_snapshot_behind = [&](std::uint64_t seq) {
    return eventually([&] {
      EXPECT_TRUE(is_done(guard.add_if_new(numbered(items++))));
      return guard.status().snapshot_seq > seq;
    });
  };
  ASSERT_TRUE(add_until_snapshot_behind(0));
  EXPECT_TRUE(guard.status().snapshot_at.has_value());
  ASSERT_TRUE(add_until_snapshot_behind(guard.status().snapshot_seq)) << "and the next one";
  const std::string left = redis.call({"XLEN", kLog});
  EXPECT_LT(std::stoul(left.substr(1)), guard.status().seq) << "trimmed";
  const std::string first = redis.call({"XRANGE", kLog, "-", "+", "COUNT", "1"});
  EXPECT_THAT(first, testing::Not(HasSubstr("\r\n1\r\n$1\r\nw"))) << "what came first is gone";

  const LoggedGuard newcomer(redis);
  ASSERT_TRUE(newcomer.catches_up_with(guard)) << newcomer.status().why;
  EXPECT_EQ(newcomer.dump(), guard.dump());
  EXPECT_EQ(newcomer.status().rereads, 0U);
  for (std::size_t i = 0; i < items; ++i) {
    EXPECT_TRUE(newcomer.has(numbered(i)));
  }
  EXPECT_EQ(guard.troubles() + newcomer.troubles(), "");
  // The pieces of one snapshot, and none of them goes by itself.
  const std::string set = redis.call({"HGET", kMeta, "set"}).substr(4, 1);
  const std::string other = set == "0" ? "1" : "0";
  EXPECT_EQ(redis.call({"TTL", "{cuckooguard:filters}:snapshot:" + set + ":1"}), ":-1\r\n");
  EXPECT_EQ(redis.call({"EXISTS", "{cuckooguard:filters}:snapshot:" + other + ":1"}), ":0\r\n");
}

// Of two guards one has room for less. What it cannot have is its own affair: it goes on, and has
// it all again when there is room.
TEST(FilterLog, a_guard_without_room_for_a_filter_goes_on_and_is_sure_again_when_it_is_gone) {
  const RedisServer redis;
  const FilterLog::Settings settings{.snapshot_every = std::chrono::milliseconds(50),
                                     .digest_entries = 1};
  LoggedGuard large(redis, settings);
  LoggedGuard small(redis, settings, secret(), {.bytes_max = 1'000'000, .is_one_of_several = true});
  const Operation::Kind create = Operation::Kind::create;
  const filled::Shape shape{.kind = filled::Kind::cuckoo, .capacity = 2'000'000};
  EXPECT_TRUE(is_done(large.add_if_new("before")));
  EXPECT_EQ(large.call({.kind = create, .filter = "large", .shape = shape}).status, Status::done);
  EXPECT_TRUE(is_done(large.add_if_new("a", "large")));
  ASSERT_TRUE(small.catches_up_with(large)) << small.status().why;
  EXPECT_EQ(small.unsure(), 1U);
  EXPECT_TRUE(small.has("never added", "large"));
  EXPECT_FALSE(small.has("never added"));
  const Outcome outcome = small.add_if_new("b", "large");
  EXPECT_EQ(outcome.status, Status::unknown);
  EXPECT_THAT(outcome.why, HasSubstr("max_memory"));
  EXPECT_TRUE(large.catches_up_with(small));
  EXPECT_TRUE(large.has("b", "large")) << "the change was applied on guards that have room";
  EXPECT_TRUE(is_done(small.add_if_new("c"))) << "all else goes on";
  EXPECT_TRUE(is_not_new(large.add_if_new("c")));
  EXPECT_TRUE(eventually([&] { return !small.troubles().empty(); }));
  EXPECT_THAT(small.troubles(), HasSubstr("the filter large is unsure"));
  EXPECT_EQ(small.status().rereads, 0U);

  EXPECT_EQ(small.call({.kind = Operation::Kind::drop, .filter = "large"}).status, Status::done);
  EXPECT_TRUE(eventually([&] { return small.status().rereads == 1; })) << "by a snapshot";
  ASSERT_TRUE(small.catches_up_with(large)) << small.status().why;
  ASSERT_TRUE(large.catches_up_with(small)) << large.status().why;
  EXPECT_EQ(small.unsure(), 0U);
  EXPECT_EQ(small.dump(), large.dump());
  EXPECT_EQ(large.troubles(), "");
  EXPECT_EQ(large.status().rereads, 0U);
}

// Nobody has what is missing, and nobody waits for it for ever.
TEST(FilterLog, guards_of_which_none_had_room_write_a_snapshot_once_the_filter_is_gone) {
  const RedisServer redis;
  LoggedGuard guard(redis,
                    {.snapshot_every = std::chrono::milliseconds(50)},
                    secret(),
                    {.bytes_max = 1'000'000, .is_one_of_several = true});
  EXPECT_TRUE(is_done(guard.add_if_new("before")));
  guard.call({.kind = Operation::Kind::create,
              .filter = "large",
              .shape = {.kind = filled::Kind::cuckoo, .capacity = 2'000'000}});
  EXPECT_EQ(guard.add_if_new("a", "large").status, Status::unknown);
  guard.call({.kind = Operation::Kind::drop, .filter = "large"});
  EXPECT_TRUE(eventually([&] { return guard.status().snapshot_seq != 0; }));
  LoggedGuard newcomer(redis);
  ASSERT_TRUE(newcomer.catches_up_with(guard)) << newcomer.status().why;
  EXPECT_EQ(newcomer.dump(), guard.dump());
  EXPECT_TRUE(newcomer.has("before"));
}

// The log goes on while a dump is made, and while a snapshot is written.
TEST(FilterLog, what_comes_while_a_large_filter_is_read_does_not_wait_for_that) {
  const RedisServer redis;
  LoggedGuard guard(redis,
                    {.snapshot_entries = 300, .snapshot_every = std::chrono::milliseconds(50)});
  guard.call({.kind = Operation::Kind::create,
              .filter = "large",
              .shape = {.kind = filled::Kind::cuckoo, .capacity = 60'000'000}});
  const auto dump =
      std::make_shared<filled::Change>(guard.operation(Operation::Kind::dump, "none", "large"));
  guard.log().submit(dump);
  std::size_t while_dumped = 0;
  for (; !dump->is_done(); ++while_dumped) {
    ASSERT_TRUE(is_done(guard.add_if_new(numbered(while_dumped))));
  }
  EXPECT_GT(while_dumped, 3U);
  EXPECT_GT(dump->outcome().blob.size(), std::size_t{60'000'000});
  std::size_t added = while_dumped;
  for (; guard.status().snapshot_seq == 0; ++added) {
    ASSERT_TRUE(is_done(guard.add_if_new(numbered(added))));
  }
  // What came meanwhile stands behind it.
  EXPECT_GT(guard.status().seq, guard.status().snapshot_seq + 3);
  LoggedGuard newcomer(redis);
  ASSERT_TRUE(newcomer.catches_up_with(guard)) << newcomer.status().why;
  EXPECT_EQ(newcomer.dump(), guard.dump());
  EXPECT_EQ(newcomer.status().skipped, 0U);
}

TEST(FilterLog, a_filter_that_is_past_its_time_is_gone_everywhere) {
  const RedisServer redis;
  LoggedGuard guard(redis);
  const LoggedGuard other(redis);
  EXPECT_TRUE(is_done(guard.add_if_new("a")));
  EXPECT_EQ(guard.call({.kind = Operation::Kind::expire, .filter = "seen", .until = 1}).status,
            Status::done);
  EXPECT_TRUE(eventually([&] { return !guard.has_filter("seen") && !other.has_filter("seen"); }));
}

TEST(FilterLog, without_redis_all_is_refused_at_once_and_nothing_is_current) {
  RedisServer redis;
  LoggedGuard guard(redis);
  ASSERT_TRUE(guard.becomes(State::ready));
  EXPECT_TRUE(guard.is_current());
  redis.kill();
  ASSERT_TRUE(guard.becomes(State::lost));
  const Outcome outcome = guard.add_if_new("a");
  EXPECT_EQ(outcome.status, Status::not_in_log);
  EXPECT_THAT(outcome.why, HasSubstr("log in Redis is unusable"));
  EXPECT_TRUE(eventually([&] { return !guard.is_current(); }));
  redis.start_again();
  ASSERT_TRUE(guard.becomes(State::ready));
  EXPECT_TRUE(is_done(guard.add_if_new("a")));
}

TEST(FilterLog, what_a_redis_that_hangs_has_been_sent_is_unknown_and_the_end_waits_for_nobody) {
  const RedisServer redis;
  auto guard = std::make_unique<LoggedGuard>(redis);
  ASSERT_TRUE(guard->becomes(State::ready));
  ::kill(redis.pid(), SIGSTOP);
  const auto change =
      std::make_shared<filled::Change>(guard->operation(Operation::Kind::add_if_new, "a"));
  guard->log().submit(change);
  EXPECT_TRUE(eventually([&] { return !guard->is_current(); }));
  EXPECT_TRUE(eventually([&] { return change->is_done(); }));
  EXPECT_EQ(change->outcome().status, Status::unknown) << change->outcome().why;
  guard.reset();
  ::kill(redis.pid(), SIGCONT);
}

TEST(FilterLog, whoever_was_cut_off_goes_on_where_it_was) {
  const RedisServer redis;
  LoggedGuard guard(redis);
  LoggedGuard other(redis);
  for (std::size_t i = 0; i < 20; ++i) {
    redis.call({"CLIENT", "KILL", "TYPE", "normal"});
    EXPECT_TRUE(eventually([&] {
      const Outcome outcome = guard.add_if_new(numbered(i));
      return is_done(outcome) || is_not_new(outcome);
    }));
  }
  EXPECT_TRUE(other.catches_up_with(guard));
  EXPECT_EQ(guard.status().rereads + other.status().rereads, 0U);
  EXPECT_EQ(guard.dump(), other.dump());
}

TEST(FilterLog, what_redis_does_not_take_was_not_done_and_leaves_no_hole) {
  const RedisServer redis;
  LoggedGuard guard(redis);
  ASSERT_TRUE(is_done(guard.add_if_new("before")));
  const auto expect_refused = [&](const std::string& why) {
    const Outcome outcome = guard.add_if_new("refused");
    EXPECT_EQ(outcome.status, Status::not_in_log);
    EXPECT_THAT(outcome.why, HasSubstr(why));
  };
  redis.call({"CONFIG", "SET", "maxmemory", "1"});
  expect_refused("OOM");
  redis.call({"CONFIG", "SET", "maxmemory", "0"});
  redis.call({"ACL", "SETUSER", "default", "-xadd"});
  expect_refused("can't run this command");
  redis.call({"ACL", "SETUSER", "default", "+xadd"});
  EXPECT_TRUE(is_done(guard.add_if_new("refused")));
  EXPECT_EQ(guard.status().rereads, 0U);
  const LoggedGuard newcomer(redis);
  EXPECT_TRUE(newcomer.catches_up_with(guard));
  EXPECT_EQ(newcomer.dump(), guard.dump());
}

TEST(FilterLog, a_redis_that_may_not_be_written_to_is_said_in_its_words) {
  const RedisServer master;
  const RedisServer redis({"--replicaof", "127.0.0.1 " + std::to_string(master.port())});
  LoggedGuard guard(redis);
  ASSERT_TRUE(guard.becomes(State::lost));
  EXPECT_THAT(guard.status().why, StartsWith("READONLY"));
  EXPECT_EQ(guard.add_if_new("a").status, Status::not_in_log);
}

}  // namespace
}  // namespace cuckooguard::replicated
