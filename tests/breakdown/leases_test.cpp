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
using May = guard::Misses::May;
using testing::ElementsAre;
using testing::IsEmpty;

const text::Network kHere = text::Network::of_ipv4(std::array<unsigned char, 4>{127, 0, 0, 1});
const text::Network kElsewhere = text::Network::of_ipv4(std::array<unsigned char, 4>{127, 0, 0, 2});
using Answer = SharedLeases::Answer;

// Answers when the test says so.
class FakeShared final : public SharedLeases {
 public:
  std::uint64_t join(Leases& /*leases_*/) override { return 7; }
  void leave(std::uint64_t /*leases_*/) override { has_left = true; }
  bool ask(Ask ask) override {
    if (takes) {
      asks.push_back(std::move(ask));
    }
    return takes;
  }
  void release(std::string_view name, int /*db*/) override { released.emplace_back(name); }

  bool takes = true;
  bool has_left = false;
  std::vector<Ask> asks;
  std::vector<std::string> released;
};

// Clients of one worker, which is told of them by their numbers.
class LeasesTest : public testing::Test {
 protected:
  static constexpr int kClients = 8;

  void begin(const config::Breakdown& settings) {
    clients_.clear();
    shared_ = std::make_shared<FakeShared>();
    leases_ = std::make_shared<Leases>(settings, addresses_, filter::random_secret(), shared_);
    for (int i = 0; i < kClients; ++i) {
      clients_.push_back(connect(kHere));
    }
  }
  std::unique_ptr<guard::Misses> connect(text::Network network) {
    names_.push_back(std::make_unique<int>(static_cast<int>(names_.size())));
    return leases_->connect(network, known_, names_.back().get());
  }
  void SetUp() override { begin({.hold = 100ms}); }

  // True: it waits.
  bool miss(int client, std::string_view key, May may = May::wait) {
    return clients_.at(static_cast<std::size_t>(client))
        ->missed(*leases_, {leases_->hash(key), key}, may, now_);
  }
  Next next(int client) { return clients_.at(static_cast<std::size_t>(client))->next(now_); }
  void write(int client, std::string_view key, bool has_value = true) {
    leases_->written(
        leases_->hash(key), clients_.at(static_cast<std::size_t>(client)).get(), has_value, now_);
  }
  // Who is to be asked what comes next.
  std::vector<int> woken() {
    std::vector<int> all;
    for (void* const name : known_->take()) {
      all.push_back(*static_cast<int*>(name) % kClients);
    }
    return all;
  }
  // What Redis may say at any time.
  void hear_something(std::mt19937_64& random) {
    if (!shared_->asks.empty() && random() % 2 == 0) {
      const SharedLeases::Ask ask = shared_->asks[random() % shared_->asks.size()];
      leases_->answered(ask.key, ask.ticket, static_cast<Answer>(random() % 6), now_);
    }
    const std::string key(1, static_cast<char>('a' + random() % 5));
    if (random() % 4 == 0) {
      leases_->pushed(random() % 8 == 0 ? "" : key, now_);
    } else if (random() % 4 == 0) {
      leases_->ended_elsewhere(key, now_);
    }
    shared_->takes = random() % 10 != 0;
  }
  // To what was asked last.
  bool answer(Answer given) {
    const SharedLeases::Ask ask = shared_->asks.back();
    return leases_->answered(ask.key, ask.ticket, given, now_);
  }
  // The usual time from nil to SET.
  void teach(std::chrono::milliseconds usual) {
    ASSERT_FALSE(miss(0, "taught"));
    now_ += usual;
    write(0, "taught");
  }

  TimePoint now_{std::chrono::hours(1)};
  std::shared_ptr<Addresses> addresses_ = std::make_shared<Addresses>(filter::random_secret());
  std::shared_ptr<guard::KnownReplies> known_ = std::make_shared<guard::KnownReplies>([] {});
  std::vector<std::unique_ptr<int>> names_;
  std::shared_ptr<FakeShared> shared_;
  std::shared_ptr<Leases> leases_;
  std::vector<std::unique_ptr<guard::Misses>> clients_;
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
  clients_[1]->end(End::value, now_);
  EXPECT_EQ(leases_->counters().spared.value(), 1);
  EXPECT_EQ(leases_->now().held, 1) << "the other has been told, and has yet to ask";
}

TEST_F(LeasesTest, a_write_over_any_connection_ends_it) {
  EXPECT_FALSE(miss(0, "a"));
  EXPECT_TRUE(miss(1, "a"));
  leases_->written(leases_->hash("a"), nullptr, true, now_);
  EXPECT_EQ(next(1), Next::ask);
  EXPECT_EQ(leases_->now().loads, 0);
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
  EXPECT_FALSE(clients_[1]->missed(*leases_, {leases_->hash("b"), "b"}, May::wait, now_));
  EXPECT_EQ(next(0), Next::wait);
  EXPECT_EQ(leases_->now().loads, 2);
}

TEST_F(LeasesTest, after_hold_a_waiter_has_its_nil) {
  begin({.hold = 100ms, .lease = 300ms});
  EXPECT_FALSE(miss(0, "a"));
  now_ += 10ms;
  EXPECT_TRUE(miss(1, "a"));
  EXPECT_EQ(clients_[1]->until(), now_ + 100ms);
  now_ += 99ms;
  EXPECT_EQ(next(1), Next::wait);
  now_ += 1ms;
  EXPECT_EQ(next(1), Next::take);
  EXPECT_EQ(leases_->counters().timed_out.value(), 1);
  EXPECT_EQ(leases_->now().held, 0);
}

TEST_F(LeasesTest, one_that_misses_again_waits_no_longer_than_at_first) {
  EXPECT_FALSE(miss(0, "a"));
  EXPECT_TRUE(miss(1, "a"));
  EXPECT_TRUE(miss(2, "a"));
  now_ += 60ms;
  write(0, "a");
  EXPECT_EQ(next(1), Next::ask);
  EXPECT_EQ(next(2), Next::ask);
  EXPECT_FALSE(miss(1, "a")) << "it has become the owner";
  EXPECT_TRUE(miss(2, "a"));
  EXPECT_EQ(clients_[2]->until(), now_ + 40ms);
  now_ += 40ms;
  EXPECT_EQ(next(2), Next::take);
}

TEST_F(LeasesTest, one_that_is_asked_too_late_has_its_nil) {
  EXPECT_FALSE(miss(0, "a"));
  EXPECT_TRUE(miss(1, "a"));
  write(0, "a");
  EXPECT_EQ(next(1), Next::ask);
  now_ += 100ms;
  EXPECT_FALSE(miss(1, "a"));
  EXPECT_EQ(leases_->now().loads, 0) << "its time is over: nobody waits for it";
}

TEST_F(LeasesTest, when_the_owner_goes_the_next_one_loads_at_once) {
  EXPECT_FALSE(miss(0, "a"));
  EXPECT_TRUE(miss(1, "a"));
  EXPECT_TRUE(miss(2, "a"));
  clients_[0]->gone(now_);
  clients_[0].reset();
  EXPECT_THAT(woken(), ElementsAre(1));
  EXPECT_EQ(next(1), Next::take);
  EXPECT_EQ(next(2), Next::wait);
  EXPECT_EQ(leases_->now().loads, 1);
  clients_[1]->gone(now_);
  EXPECT_THAT(woken(), ElementsAre(2)) << "a lease that was handed over is one";
}

TEST_F(LeasesTest, one_that_goes_before_it_has_heard_of_its_lease_hands_it_on) {
  EXPECT_FALSE(miss(0, "a"));
  EXPECT_TRUE(miss(1, "a"));
  EXPECT_TRUE(miss(2, "a"));
  clients_[0]->gone(now_);
  clients_[1]->gone(now_);
  EXPECT_EQ(next(2), Next::take);
}

TEST_F(LeasesTest, a_lease_lasts_four_times_what_is_usual_and_then_has_one_successor) {
  teach(10ms);
  EXPECT_FALSE(miss(0, "a"));
  EXPECT_TRUE(miss(1, "a"));
  EXPECT_TRUE(miss(2, "a"));
  EXPECT_EQ(clients_[1]->until(), now_ + 40ms);
  now_ += 40ms;
  EXPECT_EQ(next(1), Next::take);
  EXPECT_EQ(next(2), Next::wait);
  EXPECT_EQ(clients_[2]->until(), now_ + 40ms);
}

TEST_F(LeasesTest, a_lease_lasts_neither_less_than_20_ms_nor_more_than_500) {
  teach(1ms);
  EXPECT_FALSE(miss(0, "a"));
  EXPECT_TRUE(miss(1, "a"));
  EXPECT_EQ(clients_[1]->until(), now_ + 20ms);
  begin({.hold = 500ms});
  teach(400ms);
  EXPECT_FALSE(miss(0, "a"));
  now_ += 250ms;
  EXPECT_TRUE(miss(1, "a"));
  EXPECT_EQ(clients_[1]->until(), now_ + 250ms);
}

TEST_F(LeasesTest, a_database_that_has_become_slow_is_learned_from_what_comes_late) {
  teach(10ms);
  for (int i = 0; i < 30; ++i) {
    EXPECT_FALSE(miss(0, "a"));
    now_ += 100ms;
    write(0, "a");
  }
  EXPECT_GT(leases_->now().usual, 50ms);
  EXPECT_FALSE(addresses_->is_off(addresses_->connect(kHere), leases_->hash("a"), now_));
  begin({.hold = 100ms, .lease = 50ms});
  EXPECT_FALSE(miss(0, "a"));
  EXPECT_TRUE(miss(1, "a"));
  now_ += 50ms;
  EXPECT_EQ(next(1), Next::take);
  now_ += 10ms;
  write(0, "a");
  EXPECT_EQ(leases_->now().usual, 60ms) << "from the first nil";
}

TEST_F(LeasesTest, only_so_many_outcomes_of_a_key_are_open) {
  begin({.hold = 500ms, .lease = 20ms});
  EXPECT_FALSE(miss(0, "a"));
  for (int i = 1; i < kClients; ++i) {
    EXPECT_TRUE(miss(i, "a"));
  }
  for (int i = 1; i < kClients; ++i) {
    now_ += 20ms;
    EXPECT_EQ(next(i), Next::take);
  }
  now_ += 20ms;
  static_assert(kClients == Leases::kPastMax + Addresses::kOutcomesLeast);
  write(0, "b");
  EXPECT_TRUE(addresses_->is_off(addresses_->connect(kHere), leases_->hash("a"), now_));
}

TEST_F(LeasesTest, who_never_sets_takes_no_lease_any_more) {
  const auto taker = connect(kElsewhere);
  const std::uint64_t key = leases_->hash("a");
  for (int i = 0; i < Addresses::kOutcomesLeast; ++i) {
    EXPECT_FALSE(taker->missed(*leases_, {key, "a"}, May::wait, now_));
    EXPECT_EQ(leases_->now().loads, 1);
    now_ += 500ms;
    EXPECT_FALSE(miss(0, "b")) << "which ends the lease that is over";
    write(0, "b");
    now_ += Leases::kLate;
  }
  EXPECT_FALSE(taker->missed(*leases_, {key, "a"}, May::wait, now_));
  EXPECT_EQ(leases_->now().loads, 0);
  EXPECT_FALSE(miss(0, "a"));
  EXPECT_EQ(leases_->now().loads, 1) << "others do";
  EXPECT_FALSE(taker->missed(*leases_, {key, "a"}, May::wait, now_))
      << "and it is not made to wait for them";
}

TEST_F(LeasesTest, who_never_sets_is_not_credited_with_what_others_set) {
  const auto taker = connect(kElsewhere);
  const std::uint64_t key = leases_->hash("a");
  for (int i = 0; i < Addresses::kOutcomesLeast; ++i) {
    EXPECT_FALSE(taker->missed(*leases_, {key, "a"}, May::wait, now_));
    now_ += 500ms;
    EXPECT_FALSE(miss(0, "a"));
    write(0, "a");
    now_ += Leases::kLate;
  }
  EXPECT_FALSE(taker->missed(*leases_, {key, "a"}, May::wait, now_));
  EXPECT_EQ(leases_->now().loads, 0);
}

TEST_F(LeasesTest, a_pool_that_has_no_connection_for_its_set_waits_no_more) {
  begin({.hold = 20ms, .lease = 500ms});
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(miss(0, "a"));
    EXPECT_TRUE(miss(1, "a"));
    now_ += 20ms;
    EXPECT_EQ(next(1), Next::take);
    now_ += 1ms;
    write(1, "a");
  }
  EXPECT_FALSE(miss(0, "a"));
  EXPECT_FALSE(miss(1, "a"));
}

TEST_F(LeasesTest, anothers_set_just_after_a_wait_starves_nobody) {
  begin({.hold = 20ms, .lease = 500ms});
  const auto writer = connect(kElsewhere);
  const auto second = connect(kElsewhere);
  const std::uint64_t key = leases_->hash("a");
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(miss(0, "a"));
    EXPECT_TRUE(miss(1, "a"));
    now_ += 20ms;
    EXPECT_EQ(next(1), Next::take);
    now_ += 1ms;
    leases_->written(key, writer.get(), true, now_);
  }
  EXPECT_FALSE(miss(0, "a"));
  EXPECT_TRUE(writer->missed(*leases_, {key, "a"}, May::wait, now_));
}

TEST_F(LeasesTest, one_that_has_waited_in_vain_and_loads_quickly_itself_is_not_starved) {
  for (int i = 0; i < 3; ++i) {
    begin({.hold = 20ms, .lease = 500ms});
    teach(4ms);
    EXPECT_FALSE(miss(0, "a"));
    EXPECT_TRUE(miss(1, "a"));
    now_ += 20ms;
    EXPECT_EQ(next(1), Next::take);
    now_ += 4ms;
    write(1, "a");
  }
  begin({.hold = 20ms, .lease = 500ms, .max_concurrent_misses = 1});
  teach(4ms);
  EXPECT_FALSE(miss(7, "busy"));
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(miss(1, "a")) << "there is no place";
    now_ += 20ms;
    EXPECT_EQ(next(1), Next::take);
    now_ += 3ms;
    write(1, "a");
  }
}

TEST_F(LeasesTest, a_deleted_key_is_loaded_by_one_of_those_who_waited) {
  EXPECT_FALSE(miss(0, "a"));
  EXPECT_TRUE(miss(1, "a"));
  EXPECT_TRUE(miss(2, "a"));
  write(3, "a", false);
  EXPECT_EQ(next(1), Next::ask);
  EXPECT_EQ(next(2), Next::ask);
  EXPECT_EQ(leases_->now().usual, 0ns) << "nothing was loaded";
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
  EXPECT_EQ(leases_->now().loads, 2);
  write(2, "c");
  EXPECT_THAT(woken(), ElementsAre(4, 3));
  EXPECT_EQ(next(4), Next::ask);
  EXPECT_EQ(next(3), Next::take);
  clients_[1]->gone(now_);
  EXPECT_EQ(leases_->now().loads, 1);
}

TEST_F(LeasesTest, one_that_may_not_wait_takes_no_place_that_is_not_there) {
  begin({.hold = 100ms, .lease = 400ms, .max_concurrent_misses = 1});
  EXPECT_FALSE(miss(0, "a", May::pass)) << "it is free";
  EXPECT_FALSE(miss(1, "b", May::pass));
  EXPECT_FALSE(miss(2, "a", May::pass));
  EXPECT_EQ(leases_->now().loads, 1);
  EXPECT_EQ(leases_->counters().passed.value(), 2);
}

TEST_F(LeasesTest, one_that_was_set_while_it_queued_is_not_loaded) {
  begin({.hold = 100ms, .lease = 400ms, .max_concurrent_misses = 1});
  EXPECT_FALSE(miss(0, "a"));
  EXPECT_TRUE(miss(1, "b"));
  write(5, "b");
  EXPECT_EQ(next(1), Next::ask);
  clients_[1]->end(End::value, now_);
  write(0, "a");
  EXPECT_EQ(leases_->now().loads, 0);
}

TEST_F(LeasesTest, who_may_still_be_loading_keeps_the_place) {
  begin({.hold = 5s, .lease = 30ms, .max_concurrent_misses = 1});
  EXPECT_FALSE(miss(0, "a"));
  EXPECT_TRUE(miss(1, "b"));
  EXPECT_TRUE(miss(2, "a"));
  EXPECT_EQ(clients_[1]->until(), now_ + 30ms);
  now_ += 30ms;
  EXPECT_EQ(next(1), Next::wait) << "its lease is over, its load perhaps not";
  EXPECT_EQ(next(2), Next::wait);
  now_ += Leases::kLate - 1ms;
  EXPECT_EQ(next(1), Next::wait);
  EXPECT_EQ(clients_[1]->until(), now_ + 1ms);
  now_ += 1ms;
  EXPECT_EQ(next(1), Next::take);
  EXPECT_EQ(next(2), Next::wait);
  now_ += 40ms;
  EXPECT_EQ(next(2), Next::wait);
  write(1, "b");
  EXPECT_EQ(next(2), Next::take) << "a late SET frees its place, too";
}

TEST_F(LeasesTest, in_observe_nobody_waits_and_what_would_have_been_spared_is_counted) {
  EXPECT_FALSE(miss(0, "a", May::be_observed));
  EXPECT_FALSE(miss(1, "a", May::be_observed));
  EXPECT_FALSE(miss(2, "a", May::be_observed));
  EXPECT_EQ(leases_->counters().would_be_held.value(), 2);
  EXPECT_EQ(leases_->counters().would_be_spared.value(), 0);
  write(0, "a");
  EXPECT_EQ(leases_->counters().would_be_spared.value(), 2);
  EXPECT_THAT(woken(), IsEmpty());
}

TEST_F(LeasesTest, who_waits_is_let_go_when_it_is_closed) {
  EXPECT_FALSE(miss(0, "a"));
  EXPECT_TRUE(miss(1, "a"));
  leases_->close();
  EXPECT_THAT(woken(), ElementsAre(1));
  EXPECT_EQ(next(1), Next::ask);
  EXPECT_FALSE(miss(1, "a"));
  EXPECT_FALSE(miss(2, "a"));
}

TEST_F(LeasesTest, there_are_only_so_many_keys) {
  for (std::size_t i = 0; i < Leases::kKeysMax + 100; ++i) {
    EXPECT_FALSE(miss(0, "key" + std::to_string(i)));
  }
  EXPECT_EQ(leases_->now().loads, Leases::kKeysMax);
  now_ += 2s;
  EXPECT_FALSE(miss(1, "a"));
  now_ += Leases::kLate;
  EXPECT_FALSE(connect(kElsewhere)->missed(*leases_, {leases_->hash("a"), "a"}, May::wait, now_));
  EXPECT_EQ(leases_->now().loads, 1) << "all others are forgotten";
}

// With `scope: redis`.
class SharedLeasesTest : public LeasesTest {
 protected:
  void SetUp() override { begin_shared({}); }
  void begin_shared(config::Breakdown settings) {
    settings.hold = 100ms;
    settings.scope = config::BreakdownScope::redis;
    begin(settings);
  }
  void expect_to_load(int client) {
    EXPECT_THAT(woken(), ElementsAre(client));
    EXPECT_EQ(next(client), Next::take);
  }
};

TEST_F(SharedLeasesTest, the_first_loads_once_redis_has_said_that_the_lease_is_ours) {
  EXPECT_TRUE(miss(0, "a"));
  EXPECT_TRUE(miss(1, "a"));
  ASSERT_EQ(shared_->asks.size(), 1U) << "once for all";
  EXPECT_EQ(shared_->asks[0].name, "a");
  EXPECT_EQ(shared_->asks[0].lasts, 500ms);
  EXPECT_EQ(next(0), Next::wait);
  EXPECT_TRUE(answer(Answer::ours));
  expect_to_load(0);
  EXPECT_EQ(next(1), Next::wait);
  write(0, "a");
  EXPECT_EQ(next(1), Next::ask);
  EXPECT_THAT(shared_->released, ElementsAre("a"));
  EXPECT_EQ(leases_->counters().taken_over.value(), 0);
}

TEST_F(SharedLeasesTest, while_another_guard_loads_all_wait_until_redis_pushes) {
  EXPECT_TRUE(miss(0, "a"));
  EXPECT_TRUE(miss(1, "a"));
  EXPECT_TRUE(answer(Answer::elsewhere));
  EXPECT_TRUE(miss(2, "a"));
  EXPECT_EQ(shared_->asks.size(), 1U);
  EXPECT_EQ(leases_->now().loads, 0);
  leases_->pushed("b", now_);
  EXPECT_THAT(woken(), IsEmpty());
  leases_->pushed("a", now_);
  EXPECT_THAT(woken(), ElementsAre(0, 1, 2));
  EXPECT_EQ(next(0), Next::ask);
  clients_[0]->end(End::value, now_);
  EXPECT_TRUE(miss(1, "a")) << "it was deleted";
  EXPECT_EQ(shared_->asks.size(), 2U);
  EXPECT_THAT(shared_->released, IsEmpty());
}

TEST_F(SharedLeasesTest, when_another_guards_lease_has_ended_it_is_asked_for_again) {
  EXPECT_TRUE(miss(0, "a"));
  answer(Answer::elsewhere);
  leases_->ended_elsewhere("a", now_);
  ASSERT_EQ(shared_->asks.size(), 2U);
  answer(Answer::ended);
  ASSERT_EQ(shared_->asks.size(), 3U);
  answer(Answer::ours);
  expect_to_load(0);
}

TEST_F(SharedLeasesTest, when_nothing_tells_it_is_asked_for_again_and_again) {
  EXPECT_TRUE(miss(0, "a"));
  for (std::size_t i = 1; i < 5; ++i) {
    ASSERT_EQ(shared_->asks.size(), i);
    answer(Answer::unwatched);
    EXPECT_EQ(next(0), Next::wait);
    EXPECT_EQ(clients_[0]->until(), now_ + Leases::kAskEvery);
    now_ += Leases::kAskEvery;
    EXPECT_EQ(next(0), Next::wait);
  }
  answer(Answer::there);
  EXPECT_EQ(next(0), Next::ask);
}

TEST_F(SharedLeasesTest, another_guards_lease_lasts_no_longer_than_ones_own_would) {
  begin_shared({.lease = 50ms});
  EXPECT_TRUE(miss(0, "a"));
  answer(Answer::elsewhere);
  now_ += 50ms;
  EXPECT_EQ(next(0), Next::wait);
  EXPECT_EQ(shared_->asks.size(), 2U);
}

TEST_F(SharedLeasesTest, nobody_waits_longer_for_another_guard_than_hold) {
  EXPECT_TRUE(miss(0, "a"));
  answer(Answer::elsewhere);
  EXPECT_EQ(next(0), Next::wait);
  EXPECT_EQ(clients_[0]->until(), now_ + 100ms);
  now_ += 100ms;
  EXPECT_EQ(next(0), Next::take);
  EXPECT_EQ(leases_->counters().timed_out.value(), 1);
}

TEST_F(SharedLeasesTest, without_an_answer_in_time_a_lease_of_this_guards_counts) {
  EXPECT_TRUE(miss(0, "a"));
  EXPECT_TRUE(miss(1, "a"));
  EXPECT_EQ(clients_[0]->until(), now_ + Leases::kAskMost);
  now_ += Leases::kAskMost;
  EXPECT_EQ(next(0), Next::take);
  EXPECT_EQ(next(1), Next::wait);
  EXPECT_TRUE(answer(Answer::ours)) << "it is late, and of use";
  write(0, "a");
  EXPECT_THAT(shared_->released, ElementsAre("a"));
}

TEST_F(SharedLeasesTest, an_answer_that_comes_when_all_is_over_is_of_no_use) {
  EXPECT_TRUE(miss(0, "a"));
  clients_[0]->end(End::let_go, now_);
  EXPECT_FALSE(answer(Answer::ours));
  EXPECT_TRUE(miss(0, "a"));
  now_ += Leases::kAskMost;
  EXPECT_EQ(next(0), Next::take);
  write(0, "a");
  EXPECT_FALSE(answer(Answer::ours));
  EXPECT_TRUE(miss(0, "a"));
  write(1, "a");
  EXPECT_FALSE(answer(Answer::ours));
  const auto slow = connect(kElsewhere);
  begin_shared({.lease = 50ms});
  EXPECT_TRUE(slow->missed(*leases_, {leases_->hash("a"), "a"}, May::wait, now_));
  answer(Answer::failed);
  now_ += 50ms;
  EXPECT_TRUE(miss(0, "a"));
  write(1, "a");
  EXPECT_FALSE(answer(Answer::ours)) << "although its key is remembered for another one's SET";
}

TEST_F(SharedLeasesTest, what_cannot_be_asked_is_loaded_by_one_client_of_this_guards) {
  EXPECT_TRUE(miss(0, "a"));
  EXPECT_TRUE(answer(Answer::failed));
  expect_to_load(0);
  EXPECT_TRUE(miss(1, "a"));
  shared_->takes = false;
  EXPECT_FALSE(miss(2, "b"));
  EXPECT_TRUE(miss(3, "b"));
  write(0, "a");
  EXPECT_THAT(shared_->released, IsEmpty());
}

TEST_F(SharedLeasesTest, a_lost_connection_has_all_who_wait_for_others_ask_again) {
  EXPECT_TRUE(miss(0, "a"));
  answer(Answer::elsewhere);
  EXPECT_TRUE(miss(1, "b"));
  answer(Answer::elsewhere);
  EXPECT_TRUE(miss(2, "c"));
  answer(Answer::ours);
  EXPECT_TRUE(miss(3, "c"));
  woken();
  leases_->pushed({}, now_);
  EXPECT_THAT(woken(), testing::UnorderedElementsAre(0, 1));
}

TEST_F(SharedLeasesTest, a_lease_that_ends_otherwise_is_asked_for_anew) {
  begin_shared({.lease = 50ms});
  EXPECT_TRUE(miss(0, "a"));
  answer(Answer::ours);
  expect_to_load(0);
  EXPECT_TRUE(miss(1, "a"));
  now_ += 50ms;
  EXPECT_EQ(next(1), Next::wait);
  EXPECT_EQ(shared_->asks.size(), 2U);
  EXPECT_THAT(shared_->released, IsEmpty()) << "it has ended in Redis as well";
  answer(Answer::ours);
  expect_to_load(1);
  EXPECT_EQ(leases_->counters().taken_over.value(), 1);
  EXPECT_TRUE(miss(2, "a"));
  clients_[1]->gone(now_);
  EXPECT_THAT(shared_->released, ElementsAre("a"));
  EXPECT_EQ(shared_->asks.size(), 3U);
}

TEST_F(SharedLeasesTest, a_pool_that_loads_nothing_may_wait_as_a_whole) {
  const auto alone = connect(kElsewhere);
  EXPECT_TRUE(alone->missed(*leases_, {leases_->hash("a"), "a"}, May::wait, now_));
  answer(Answer::elsewhere);
  EXPECT_TRUE(miss(0, "b"));
  answer(Answer::ours);
  for (int i = 1; i < kClients; ++i) {
    EXPECT_TRUE(miss(i, "b"));
  }
  EXPECT_EQ(next(0), Next::take);
  EXPECT_FALSE(miss(0, "c")) << "who would set b?";
  EXPECT_EQ(shared_->asks.back().name, "c") << "others are told, all the same";
  EXPECT_TRUE(answer(Answer::ours));
  write(0, "c");
  EXPECT_THAT(shared_->released, ElementsAre("c"));
}

TEST_F(SharedLeasesTest, only_so_many_load_or_are_asked_for_at_once) {
  begin_shared({.max_concurrent_misses = 1});
  EXPECT_TRUE(miss(0, "a"));
  EXPECT_TRUE(miss(1, "b"));
  ASSERT_EQ(shared_->asks.size(), 1U);
  answer(Answer::elsewhere);
  ASSERT_EQ(shared_->asks.size(), 2U) << "another guard's load is none of this one's";
  answer(Answer::ours);
  expect_to_load(1);
  leases_->ended_elsewhere("a", now_);
  ASSERT_EQ(shared_->asks.size(), 2U);
  write(1, "b");
  ASSERT_EQ(shared_->asks.size(), 3U);
  clients_[0]->end(End::let_go, now_);
  EXPECT_FALSE(answer(Answer::ours));
}

TEST_F(SharedLeasesTest, in_observe_and_for_very_long_keys_redis_is_not_asked) {
  EXPECT_FALSE(miss(0, "a", May::be_observed));
  EXPECT_FALSE(miss(0, std::string(Leases::kNameMax + 1, 'x')));
  EXPECT_THAT(shared_->asks, IsEmpty());
}

TEST_F(SharedLeasesTest, when_it_is_closed_nobody_waits_and_nothing_is_told) {
  EXPECT_TRUE(miss(0, "a"));
  leases_->close();
  EXPECT_TRUE(shared_->has_left);
  EXPECT_EQ(next(0), Next::ask);
  EXPECT_FALSE(miss(0, "a"));
  EXPECT_EQ(leases_->shared(), nullptr);
}

// What must hold whatever happens: nobody waits longer than hold, so many load at once, and in the
// end nothing is left.
class RandomLeasesTest : public LeasesTest {
 protected:
  static constexpr auto kHold = 50ms;

  void run(std::uint64_t seed) {
    random_.seed(seed);
    waiting_.clear();
    names_.clear();
    known_->take();
    addresses_ = std::make_shared<Addresses>(filter::random_secret());
    const auto bound = static_cast<std::uint32_t>(below(4));
    begin({.hold = kHold, .lease = 30ms, .max_concurrent_misses = bound});
    for (int i = 0; i < 400; ++i) {
      step();
      ASSERT_EQ(leases_->now().held, waiting_.size());
      ASSERT_TRUE(bound == 0 || leases_->now().loads <= bound);
    }
    for (auto& client : clients_) {
      client->gone(now_);
    }
    EXPECT_EQ(leases_->now().loads, 0);
    EXPECT_EQ(leases_->now().held, 0);
  }

 private:
  struct Wait {
    TimePoint since;
    std::string key;
  };

  int below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }

  // It was woken, or its time is over.
  void settle(int client) {
    const Wait& wait = waiting_.at(client);
    const Next next_of = next(client);
    EXPECT_FALSE(next_of == Next::wait && now_ - wait.since >= kHold);
    if (next_of == Next::wait || (next_of == Next::ask && miss(client, wait.key))) {
      return;
    }
    waiting_.erase(client);
  }
  void act(int client, const std::string& key) {
    if (below(3) == 0) {
      write(client, key, below(5) != 0);
    } else if (!waiting_.contains(client)) {
      if (miss(client, key)) {
        waiting_[client] = {.since = now_, .key = key};
      }
    } else if (below(3) == 0) {
      clients_[static_cast<std::size_t>(client)]->end(End::let_go, now_);
      waiting_.erase(client);
    }
  }
  void step() {
    now_ += std::chrono::milliseconds(below(4));
    std::set<int> due;
    for (const int client : woken()) {
      due.insert(client);
    }
    for (int client = 0; client < kClients; ++client) {
      if (waiting_.contains(client) &&
          (due.contains(client) || now_ >= clients_[static_cast<std::size_t>(client)]->until())) {
        settle(client);
      }
    }
    act(below(kClients), std::string(1, static_cast<char>('a' + below(5))));
  }

  std::mt19937_64 random_;
  std::map<int, Wait> waiting_;
};

TEST_F(RandomLeasesTest, nobody_waits_longer_than_hold_and_in_the_end_nothing_is_left) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    run(seed);
    ASSERT_FALSE(HasFailure());
  }
}

}  // namespace
}  // namespace cuckooguard::breakdown
