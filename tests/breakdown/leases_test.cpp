#include "breakdown/leases.h"

#include <map>
#include <random>
#include <ranges>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cuckooguard::breakdown {
namespace {

using namespace std::chrono_literals;
using Next = guard::Misses::Next;
using End = guard::Misses::End;
using testing::ElementsAre;
using testing::IsEmpty;

// Clients of one worker, which is told of them by their numbers.
class LeasesTest : public testing::Test {
 protected:
  static constexpr int kClients = 8;

  void begin(const config::Breakdown& settings) {
    clients.clear();
    leases = std::make_shared<Leases>(settings, addresses, filter::random_secret());
    for (int i = 0; i < kClients; ++i) {
      clients.push_back(connect("here"));
    }
  }
  std::unique_ptr<guard::Misses> connect(std::string_view address) {
    names.push_back(std::make_unique<int>(static_cast<int>(names.size())));
    return leases->connect(address, known, names.back().get());
  }
  void SetUp() override { begin({.hold = 100ms}); }

  // True: it waits.
  bool miss(int client, std::string_view key, bool may_hold = true) {
    return clients.at(static_cast<std::size_t>(client))
        ->missed(*leases, leases->hash(key), may_hold, now);
  }
  Next next(int client) { return clients.at(static_cast<std::size_t>(client))->next(now); }
  void write(int client, std::string_view key, bool has_value = true) {
    leases->written(
        leases->hash(key), clients.at(static_cast<std::size_t>(client)).get(), has_value, now);
  }
  // Who is to be asked what comes next.
  std::vector<int> woken() {
    std::vector<int> all;
    for (void* const name : known->take()) {
      all.push_back(*static_cast<int*>(name) % kClients);
    }
    return all;
  }
  // The usual time from nil to SET.
  void teach(std::chrono::milliseconds usual) {
    ASSERT_FALSE(miss(0, "taught"));
    now += usual;
    write(0, "taught");
  }

  TimePoint now{std::chrono::hours(1)};
  std::shared_ptr<Addresses> addresses = std::make_shared<Addresses>(filter::random_secret());
  std::shared_ptr<guard::KnownReplies> known = std::make_shared<guard::KnownReplies>([] {});
  std::vector<std::unique_ptr<int>> names;
  std::shared_ptr<Leases> leases;
  std::vector<std::unique_ptr<guard::Misses>> clients;
};

TEST_F(LeasesTest, the_first_loads_and_the_others_wait_until_the_key_is_written) {
  EXPECT_FALSE(miss(0, "a"));
  EXPECT_TRUE(miss(1, "a"));
  EXPECT_TRUE(miss(2, "a"));
  EXPECT_FALSE(miss(3, "b")) << "another key";
  EXPECT_EQ(next(1), Next::wait);
  write(0, "a");
  EXPECT_THAT(woken(), ElementsAre(1, 2));
  EXPECT_EQ(next(1), Next::ask);
  clients[1]->end(End::value, now);
  EXPECT_EQ(leases->counters().spared.value(), 1);
  EXPECT_EQ(leases->now().held, 1) << "the other has been told, and has yet to ask";
}

TEST_F(LeasesTest, a_write_over_any_connection_ends_it) {
  EXPECT_FALSE(miss(0, "a"));
  EXPECT_TRUE(miss(1, "a"));
  leases->written(leases->hash("a"), nullptr, true, now);
  EXPECT_EQ(next(1), Next::ask);
  EXPECT_EQ(leases->now().loads, 0);
}

TEST_F(LeasesTest, a_write_of_another_key_ends_nothing) {
  EXPECT_FALSE(miss(0, "a"));
  EXPECT_TRUE(miss(1, "a"));
  write(0, "b");
  EXPECT_EQ(next(1), Next::wait);
}

TEST_F(LeasesTest, nothing_else_of_the_owners_ends_it) {
  EXPECT_FALSE(miss(0, "a"));
  EXPECT_TRUE(miss(0, "a")) << "another thread has this connection of the pool now";
  EXPECT_FALSE(clients[1]->missed(*leases, leases->hash("b"), true, now));
  EXPECT_EQ(next(0), Next::wait);
  EXPECT_EQ(leases->now().loads, 2);
}

TEST_F(LeasesTest, after_hold_a_waiter_has_its_nil) {
  begin({.hold = 100ms, .lease = 300ms});
  EXPECT_FALSE(miss(0, "a"));
  now += 10ms;
  EXPECT_TRUE(miss(1, "a"));
  EXPECT_EQ(clients[1]->until(), now + 100ms);
  now += 99ms;
  EXPECT_EQ(next(1), Next::wait);
  now += 1ms;
  EXPECT_EQ(next(1), Next::take);
  EXPECT_EQ(leases->counters().timed_out.value(), 1);
  EXPECT_EQ(leases->now().held, 0);
}

TEST_F(LeasesTest, one_that_misses_again_waits_no_longer_than_at_first) {
  EXPECT_FALSE(miss(0, "a"));
  EXPECT_TRUE(miss(1, "a"));
  EXPECT_TRUE(miss(2, "a"));
  now += 60ms;
  write(0, "a");
  EXPECT_EQ(next(1), Next::ask);
  EXPECT_EQ(next(2), Next::ask);
  EXPECT_FALSE(miss(1, "a")) << "it has become the owner";
  EXPECT_TRUE(miss(2, "a"));
  EXPECT_EQ(clients[2]->until(), now + 40ms);
  now += 40ms;
  EXPECT_EQ(next(2), Next::take);
}

TEST_F(LeasesTest, one_that_is_asked_too_late_has_its_nil) {
  EXPECT_FALSE(miss(0, "a"));
  EXPECT_TRUE(miss(1, "a"));
  write(0, "a");
  EXPECT_EQ(next(1), Next::ask);
  now += 100ms;
  EXPECT_FALSE(miss(1, "a"));
  EXPECT_EQ(leases->now().loads, 0) << "its time is over: nobody waits for it";
}

TEST_F(LeasesTest, when_the_owner_goes_the_next_one_loads_at_once) {
  EXPECT_FALSE(miss(0, "a"));
  EXPECT_TRUE(miss(1, "a"));
  EXPECT_TRUE(miss(2, "a"));
  clients[0]->gone(now);
  clients[0].reset();
  EXPECT_THAT(woken(), ElementsAre(1));
  EXPECT_EQ(next(1), Next::take);
  EXPECT_EQ(next(2), Next::wait);
  EXPECT_EQ(leases->now().loads, 1);
  clients[1]->gone(now);
  EXPECT_THAT(woken(), ElementsAre(2)) << "a lease that was handed over is one";
}

TEST_F(LeasesTest, one_that_goes_before_it_has_heard_of_its_lease_hands_it_on) {
  EXPECT_FALSE(miss(0, "a"));
  EXPECT_TRUE(miss(1, "a"));
  EXPECT_TRUE(miss(2, "a"));
  clients[0]->gone(now);
  clients[1]->gone(now);
  EXPECT_EQ(next(2), Next::take);
}

TEST_F(LeasesTest, a_lease_lasts_four_times_what_is_usual_and_then_has_one_successor) {
  teach(10ms);
  EXPECT_FALSE(miss(0, "a"));
  EXPECT_TRUE(miss(1, "a"));
  EXPECT_TRUE(miss(2, "a"));
  EXPECT_EQ(clients[1]->until(), now + 40ms);
  now += 40ms;
  EXPECT_EQ(next(1), Next::take);
  EXPECT_EQ(next(2), Next::wait);
  EXPECT_EQ(clients[2]->until(), now + 40ms);
}

TEST_F(LeasesTest, a_lease_lasts_neither_less_than_20_ms_nor_more_than_500) {
  teach(1ms);
  EXPECT_FALSE(miss(0, "a"));
  EXPECT_TRUE(miss(1, "a"));
  EXPECT_EQ(clients[1]->until(), now + 20ms);
  begin({.hold = 500ms});
  teach(400ms);
  EXPECT_FALSE(miss(0, "a"));
  now += 250ms;
  EXPECT_TRUE(miss(1, "a"));
  EXPECT_EQ(clients[1]->until(), now + 250ms);
}

TEST_F(LeasesTest, a_database_that_has_become_slow_is_learned_from_what_comes_late) {
  teach(10ms);
  for (int i = 0; i < 30; ++i) {
    EXPECT_FALSE(miss(0, "a"));
    now += 100ms;
    write(0, "a");
  }
  EXPECT_GT(leases->now().usual, 50ms);
  EXPECT_FALSE(addresses->is_off(addresses->connect("here"), leases->hash("a"), now));
}

TEST_F(LeasesTest, who_never_sets_takes_no_lease_any_more) {
  const auto taker = connect("elsewhere");
  const std::uint64_t key = leases->hash("a");
  for (int i = 0; i < Addresses::kOutcomesLeast; ++i) {
    EXPECT_FALSE(taker->missed(*leases, key, true, now));
    EXPECT_EQ(leases->now().loads, 1);
    now += 500ms;
    EXPECT_FALSE(miss(0, "b")) << "which ends the lease that is over";
    write(0, "b");
    now += Leases::kLate;
  }
  EXPECT_FALSE(taker->missed(*leases, key, true, now));
  EXPECT_EQ(leases->now().loads, 0);
  EXPECT_FALSE(miss(0, "a"));
  EXPECT_EQ(leases->now().loads, 1) << "others do";
  EXPECT_FALSE(taker->missed(*leases, key, true, now)) << "and it is not made to wait for them";
}

TEST_F(LeasesTest, who_never_sets_is_not_credited_with_what_others_set) {
  const auto taker = connect("elsewhere");
  const std::uint64_t key = leases->hash("a");
  for (int i = 0; i < Addresses::kOutcomesLeast; ++i) {
    EXPECT_FALSE(taker->missed(*leases, key, true, now));
    now += 500ms;
    EXPECT_FALSE(miss(0, "a"));
    write(0, "a");
    now += Leases::kLate;
  }
  EXPECT_FALSE(taker->missed(*leases, key, true, now));
  EXPECT_EQ(leases->now().loads, 0);
}

TEST_F(LeasesTest, a_pool_that_has_no_connection_for_its_set_waits_no_more) {
  begin({.hold = 20ms, .lease = 500ms});
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(miss(0, "a"));
    EXPECT_TRUE(miss(1, "a"));
    now += 20ms;
    EXPECT_EQ(next(1), Next::take);
    now += 1ms;
    write(1, "a");
  }
  EXPECT_FALSE(miss(0, "a"));
  EXPECT_FALSE(miss(1, "a"));
}

TEST_F(LeasesTest, a_deleted_key_is_loaded_by_one_of_those_who_waited) {
  EXPECT_FALSE(miss(0, "a"));
  EXPECT_TRUE(miss(1, "a"));
  EXPECT_TRUE(miss(2, "a"));
  write(3, "a", false);
  EXPECT_EQ(next(1), Next::ask);
  EXPECT_EQ(next(2), Next::ask);
  EXPECT_EQ(leases->now().usual, 0ns) << "nothing was loaded";
}

TEST_F(LeasesTest, only_so_many_load_at_once) {
  begin({.hold = 100ms, .lease = 400ms, .max_concurrent_misses = 2});
  EXPECT_FALSE(miss(0, "a"));
  EXPECT_FALSE(miss(1, "b"));
  EXPECT_TRUE(miss(2, "c"));
  EXPECT_TRUE(miss(3, "d"));
  EXPECT_TRUE(miss(4, "c"));
  write(0, "a");
  EXPECT_THAT(woken(), ElementsAre(2));
  EXPECT_EQ(next(2), Next::take);
  EXPECT_EQ(next(4), Next::wait);
  EXPECT_EQ(leases->now().loads, 2);
  write(2, "c");
  EXPECT_THAT(woken(), ElementsAre(4, 3));
  EXPECT_EQ(next(4), Next::ask);
  EXPECT_EQ(next(3), Next::take);
  clients[1]->gone(now);
  EXPECT_EQ(leases->now().loads, 1);
}

TEST_F(LeasesTest, one_that_was_set_while_it_queued_is_not_loaded) {
  begin({.hold = 100ms, .lease = 400ms, .max_concurrent_misses = 1});
  EXPECT_FALSE(miss(0, "a"));
  EXPECT_TRUE(miss(1, "b"));
  write(5, "b");
  EXPECT_EQ(next(1), Next::ask);
  clients[1]->end(End::value, now);
  write(0, "a");
  EXPECT_EQ(leases->now().loads, 0);
}

TEST_F(LeasesTest, what_is_over_frees_its_place) {
  begin({.hold = 100ms, .lease = 30ms, .max_concurrent_misses = 1});
  EXPECT_FALSE(miss(0, "a"));
  EXPECT_TRUE(miss(1, "b"));
  EXPECT_EQ(clients[1]->until(), now + 30ms);
  now += 30ms;
  EXPECT_EQ(next(1), Next::take);
}

TEST_F(LeasesTest, in_observe_nobody_waits_and_what_would_have_been_spared_is_counted) {
  EXPECT_FALSE(miss(0, "a", false));
  EXPECT_FALSE(miss(1, "a", false));
  EXPECT_FALSE(miss(2, "a", false));
  EXPECT_EQ(leases->counters().would_be_held.value(), 2);
  EXPECT_EQ(leases->counters().would_be_spared.value(), 0);
  write(0, "a");
  EXPECT_EQ(leases->counters().would_be_spared.value(), 2);
  EXPECT_THAT(woken(), IsEmpty());
}

TEST_F(LeasesTest, who_waits_is_let_go_when_it_is_closed) {
  EXPECT_FALSE(miss(0, "a"));
  EXPECT_TRUE(miss(1, "a"));
  leases->close();
  EXPECT_THAT(woken(), ElementsAre(1));
  EXPECT_EQ(next(1), Next::ask);
  EXPECT_FALSE(miss(1, "a"));
  EXPECT_FALSE(miss(2, "a"));
}

TEST_F(LeasesTest, there_are_only_so_many_keys) {
  for (std::size_t i = 0; i < Leases::kKeysMax + 100; ++i) {
    EXPECT_FALSE(miss(0, "key" + std::to_string(i)));
  }
  EXPECT_EQ(leases->now().loads, Leases::kKeysMax);
  now += 2s;
  EXPECT_FALSE(miss(1, "a"));
  now += Leases::kLate;
  EXPECT_FALSE(connect("elsewhere")->missed(*leases, leases->hash("a"), true, now));
  EXPECT_EQ(leases->now().loads, 1) << "all others are forgotten";
}

// What must hold whatever happens: nobody waits longer than hold, a key has one owner at a time, a
// place that is free is given to whom waits, and in the end nothing is left.
TEST_F(LeasesTest, holds_whatever_happens) {
  constexpr int kKeys = 5;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    const auto bound = static_cast<std::uint32_t>(random() % 4);
    addresses = std::make_shared<Addresses>(filter::random_secret());
    begin({.hold = 50ms, .lease = 30ms, .max_concurrent_misses = bound});
    std::map<int, TimePoint> waiting;  // since when
    std::map<int, std::string> asks;
    const auto settle = [&](int client) {
      const Next next_of = next(client);
      ASSERT_FALSE(next_of == Next::wait && now - waiting[client] >= 50ms) << seed;
      if (next_of == Next::take) {
        waiting.erase(client);
      } else if (next_of == Next::ask && (random() % 4 == 0 || !miss(client, asks[client]))) {
        clients[static_cast<std::size_t>(client)]->end(End::value, now);
        waiting.erase(client);
      }
    };
    for (int step = 0; step < 400; ++step) {
      now += std::chrono::milliseconds(random() % 4);
      const int client = static_cast<int>(random() % kClients);
      const std::string key(1, static_cast<char>('a' + random() % kKeys));
      for (const int each : woken()) {
        if (waiting.contains(each)) {
          settle(each);
        }
      }
      const std::map<int, TimePoint> before = waiting;
      for (const auto& [each, since] : before) {
        if (now >= clients[static_cast<std::size_t>(each)]->until()) {
          settle(each);
        }
      }
      if (random() % 3 == 0) {
        write(client, key, random() % 5 != 0);
      } else if (waiting.contains(client)) {
        if (random() % 3 == 0) {
          clients[static_cast<std::size_t>(client)]->end(End::let_go, now);
          waiting.erase(client);
        }
      } else if (miss(client, key)) {
        waiting[client] = now;
        asks[client] = key;
      }
      ASSERT_EQ(leases->now().held, waiting.size()) << seed;
      if (bound != 0) {
        ASSERT_LE(leases->now().loads, bound) << seed;
      }
    }
    for (auto& client : clients) {
      client->gone(now);
    }
    EXPECT_EQ(leases->now().loads, 0) << seed;
    EXPECT_EQ(leases->now().held, 0) << seed;
    names.clear();
    known->take();
  }
}

}  // namespace
}  // namespace cuckooguard::breakdown
