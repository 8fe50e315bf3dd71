// Guards that share filters by way of one Redis: of many clients that add an item at several guards
// one is told 1, and what was acknowledged is found at all of them, whoever is killed meanwhile.
//
// CUCKOOGUARD_ROUNDS for a longer run, CUCKOOGUARD_SEED to kill in the same order again; when that
// falls between two requests no seed says.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <ranges>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exactness/rounds.h"
#include "filter_races/filter_history.h"
#include "filter_races/racing_clients.h"
#include "harness/deadline.h"
#include "harness/guard_process.h"
#include "harness/redis_server.h"
#include "harness/seed.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::harness {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using What = Request::What;
using Reply = Request::Reply;

constexpr const char* kMeta = "{cuckooguard:filters}:meta";
constexpr const char* kLock = "{cuckooguard:filters}:lock";

// --- whether the checker sees what is wrong ---

// Of one item, at guard 0 unless it says otherwise.
Request request(What what, Reply reply, int begin, int end, std::uint32_t guard = 0) {
  return {.what = what,
          .reply = reply,
          .guard = guard,
          .begin = milliseconds(begin),
          .end = milliseconds(end)};
}
constexpr milliseconds kLag{100};

std::vector<std::string> wrong_in(const std::vector<Request>& history) {
  return harness::wrong_in(history, kLag);
}

TEST(FilterHistory, what_can_be_is_right) {
  EXPECT_THAT(wrong_in({request(What::add, Reply::yes, 1, 9),
                        request(What::add, Reply::no, 2, 3, 1),
                        request(What::look, Reply::no, 0, 4, 2),
                        request(What::look, Reply::yes, 10, 11)}),
              IsEmpty());
  EXPECT_THAT(wrong_in({request(What::add, Reply::unknown, 1, 2),
                        request(What::look, Reply::no, 3, 4),
                        request(What::add, Reply::no, 5, 6)}),
              IsEmpty())
      << "what is unknown may be done later";
  EXPECT_THAT(
      wrong_in({request(What::add, Reply::yes, 1, 2), request(What::look, Reply::no, 50, 60, 1)}),
      IsEmpty())
      << "another guard may lag";
  EXPECT_THAT(wrong_in({request(What::add, Reply::yes, 1, 2),
                        request(What::remove, Reply::yes, 3, 4),
                        request(What::add, Reply::yes, 5, 6),
                        request(What::remove, Reply::unknown, 7, 8),
                        request(What::add, Reply::yes, 9, 10)}),
              IsEmpty());
}

TEST(FilterHistory, two_are_told_that_they_were_first) {
  EXPECT_THAT(
      wrong_in({request(What::add, Reply::yes, 1, 9), request(What::add, Reply::yes, 2, 8)}),
      ElementsAre(HasSubstr("more than one was told 1")));
  EXPECT_THAT(wrong_in({request(What::add, Reply::unknown, 1, 2),
                        request(What::add, Reply::no, 3, 4),
                        request(What::add, Reply::yes, 5, 6)}),
              ElementsAre(HasSubstr("lost: add")));
}

TEST(FilterHistory, nobody_can_have_added_what_was_there) {
  EXPECT_THAT(wrong_in({request(What::add, Reply::no, 1, 2), request(What::add, Reply::yes, 3, 4)}),
              Contains(HasSubstr("before anybody")));
  EXPECT_THAT(wrong_in({request(What::add, Reply::no, 1, 2)}),
              ElementsAre(HasSubstr("before anybody")))
      << "all others were refused";
  EXPECT_THAT(
      wrong_in({request(What::look, Reply::yes, 1, 2), request(What::add, Reply::unknown, 3, 4)}),
      ElementsAre(HasSubstr("before anybody")));
}

TEST(FilterHistory, what_was_acknowledged_is_lost) {
  const Request added = request(What::add, Reply::yes, 1, 2);
  EXPECT_THAT(wrong_in({added, request(What::look, Reply::no, 3, 4)}),
              ElementsAre(HasSubstr("lost: look")));
  EXPECT_THAT(wrong_in({request(What::add, Reply::unknown, 0, 1),
                        request(What::add, Reply::no, 1, 2),
                        request(What::look, Reply::no, 3, 4)}),
              ElementsAre(HasSubstr("lost: look")));
  EXPECT_THAT(wrong_in({added, request(What::look, Reply::no, 103, 104, 1)}),
              ElementsAre(HasSubstr("lost: look")))
      << "another guard may lag, but not for so long";
  Request other = request(What::add, Reply::yes, 5, 6, 1);
  other.item = 7;
  EXPECT_THAT(wrong_in({added, other, request(What::look, Reply::no, 7, 8, 1)}),
              ElementsAre(HasSubstr("lost: look")))
      << "it has acknowledged what came behind";
}

TEST(FilterHistory, what_was_removed_is_removed_again_or_is_back) {
  const Request added = request(What::add, Reply::yes, 1, 2);
  EXPECT_THAT(wrong_in({added,
                        request(What::remove, Reply::yes, 3, 9),
                        request(What::remove, Reply::yes, 4, 8)}),
              ElementsAre(HasSubstr("more were told 1 who removed it")));
  EXPECT_THAT(
      wrong_in(
          {added, request(What::remove, Reply::yes, 3, 4), request(What::look, Reply::yes, 5, 6)}),
      ElementsAre(HasSubstr("although it had been removed")));
  EXPECT_THAT(wrong_in({added, request(What::remove, Reply::no, 3, 4)}),
              ElementsAre(HasSubstr("lost: remove")));
}

// --- real guards ---

// Redis keeps what it has said OK to.
std::vector<std::string> that_keeps_all() {
  return {"--appendonly", "yes", "--appendfsync", "always"};
}

class FilterRaces : public testing::Test {
 protected:
  static constexpr std::size_t kGuards = 4;
  static constexpr std::size_t kClientsOfEach = 4;
  // filled::FilterLog::Settings::max_lag, and what a guard that is not given the processor takes.
  static constexpr milliseconds kMayLag{1500};

  FilterRaces() {
    std::ranges::generate_n(std::back_inserter(guards_), kGuards, [&] {
      return GuardProcess::on_port(configuration());
    });
    std::ranges::transform(guards_, std::back_inserter(ports_), &GuardProcess::port);
  }

  std::string configuration() const {
    write_whole_file(folder_ / "secret", "a secret of this test alone\n");
    const std::string shape = ", capacity: 1M, false_positive_rate: 0.0001% }";
    return "upstream: " + redis_.address() + "\nfilters:\n  named:\n    ids: { kind: cuckoo" +
           shape + "\n    seen: { kind: bloom" + shape +
           "\n    coupons: { kind: cuckoo, deletes: exact" + shape +
           "\n  durability: redis\n  secret_file: '" + folder_.file("secret") + "'\n";
  }
  std::string meta(const char* field) const { return redis_.call({"HGET", kMeta, field}); }
  std::string logs() const {
    std::string all;
    for (const GuardProcess& guard : guards_) {
      all += "--- guard\n" + guard.log();
    }
    return all;
  }

  TemporaryDirectory folder_;
  RedisServer redis_{that_keeps_all()};
  std::vector<GuardProcess> guards_;
  std::vector<std::uint16_t> ports_;
};

// It holds the lock, for a minute. Nobody needs a snapshot meanwhile, and the next one stands.
TEST_F(FilterRaces, a_guard_that_dies_while_it_writes_a_snapshot_delays_the_next_one) {
  std::vector<Request> history;
  std::vector<std::uint32_t> items;
  const auto add_and_look = [&](std::uint32_t guard) {
    FilterClient client(0, guard, ports_[guard]);
    items.push_back(static_cast<std::uint32_t>(items.size() * kRacedFilters.size()));
    EXPECT_TRUE(eventually([&] { return client.change(What::add, items.back()) == Reply::yes; }));
    EXPECT_TRUE(eventually([&] { return client.look(items); }));
    std::ranges::move(client.take_history(), std::back_inserter(history));
  };
  GuardProcess& writer = guards_.front();
  std::ranges::for_each(guards_ | std::views::drop(1), &GuardProcess::kill);
  add_and_look(0);
  const auto is_locked = [&] { return redis_.call({"EXISTS", kLock}) == ":1\r\n"; };
  ASSERT_TRUE(eventually([&] {
    const std::string before = meta("snapshot_seq");
    redis_.call({"HSET", kMeta, "wanted", "1"});
    const bool is_begun = eventually([&] { return is_locked() || meta("snapshot_seq") != before; });
    writer.kill();
    if (is_begun && is_locked()) {
      return true;
    }
    writer.start_again(configuration());  // it was faster
    add_and_look(0);
    return false;
  })) << logs();
  const std::string before = meta("snapshot_seq");
  for (GuardProcess& guard : guards_ | std::views::drop(1)) {
    guard.start_again(configuration());
  }
  for (std::uint32_t guard = 1; guard < kGuards; ++guard) {
    add_and_look(guard);
  }
  EXPECT_TRUE(is_locked());
  EXPECT_EQ(meta("snapshot_seq"), before);
  redis_.call({"PEXPIRE", kLock, "1"});  // as if the minute were over
  writer.start_again(configuration());   // and has not tried yet, as the others have
  EXPECT_TRUE(eventually([&] { return meta("snapshot_seq") != before; })) << logs();
  guards_.back().kill();
  guards_.back().start_again(configuration());
  add_and_look(kGuards - 1);
  EXPECT_THAT(harness::wrong_in(history, kMayLag), IsEmpty());
}

class Chaos : public FilterRaces {
 protected:
  unsigned pick(unsigned count) { return static_cast<unsigned>(random_() % count); }

  // Until they have asked so often; what is refused counts, too. Or for a second: a guard that has
  // never seen Redis takes that long to refuse anything.
  void let_go_on(std::uint64_t requests) {
    const std::uint64_t until = clients_->asked() + requests;
    static_cast<void>(
        eventually([&] { return clients_->asked() >= until; }, std::chrono::seconds(1)));
  }

  std::vector<GuardProcess*> some_guards(std::size_t count) {
    std::vector<GuardProcess*> chosen;
    std::ranges::transform(
        guards_, std::back_inserter(chosen), [](GuardProcess& guard) { return &guard; });
    std::ranges::shuffle(chosen, random_);
    chosen.resize(count);
    return chosen;
  }

  void kill_and_start(const std::vector<GuardProcess*>& chosen, bool redis_too) {
    for (GuardProcess* const guard : chosen) {
      guard->kill();
      ++guard_kills_;
    }
    if (redis_too) {
      redis_.kill();
      ++redis_kills_;
    }
    let_go_on(pick(3) * 500);
    const bool redis_first = pick(2) == 0;
    if (redis_too && redis_first) {
      redis_.start_again();
    }
    for (GuardProcess* const guard : chosen) {
      guard->start_again(configuration());
    }
    if (redis_too && !redis_first) {
      let_go_on(pick(2) * 400);
      redis_.start_again();
    }
  }

  // By one that has just been started: who has tried a moment ago does not try again yet. It is
  // killed at once, or when the snapshot stands. What others have left begun is as if its minute
  // were over.
  void kill_while_a_snapshot_is_written() {
    const std::vector<GuardProcess*> chosen = some_guards(1 + pick(kGuards));
    const std::string before = meta("snapshot_seq");
    const auto is_locked = [&] { return redis_.call({"EXISTS", kLock}) == ":1\r\n"; };
    const auto stands = [&] { return meta("snapshot_seq") != before; };
    const bool at_once = pick(2) == 0;
    redis_.call({"PEXPIRE", kLock, "1"});
    redis_.call({"HSET", kMeta, "wanted", "1"});
    kill_and_start(chosen, false);
    static_cast<void>(
        eventually([&] { return stands() || (at_once && is_locked()); }, std::chrono::seconds(1)));
    kill_and_start(chosen, pick(4) == 0);
    snapshots_ += static_cast<unsigned>(stands());
    snapshots_cut_ += static_cast<unsigned>(!stands() && is_locked());
  }

  void happen() {
    switch (pick(5)) {
      case 0:
        return kill_and_start(some_guards(1), false);
      case 1:
        return kill_and_start({}, true);
      case 2:
        return kill_and_start(some_guards(kGuards - pick(2)), pick(2) == 0);
      case 3:
        return kill_and_start(some_guards(1 + pick(2)), true);
      default:
        return kill_while_a_snapshot_is_written();
    }
  }

  void race() {
    clients_.emplace(ports_, kClientsOfEach, next_item_);
    const unsigned happenings = 2 + pick(3);
    for (unsigned i = 0; i < happenings; ++i) {
      let_go_on(500 + pick(3000));
      happen();
    }
    let_go_on(200);
    clients_->stop();
    ASSERT_THAT(clients_->failures(), Each(IsEmpty())) << logs();
    next_item_ = clients_->next_item() + 1;
    for (const auto& client : clients_->all()) {
      std::ranges::move(client->take_history(), std::back_inserter(history_));
      refused_ += client->counts().refused;
      unknown_ += client->counts().unknown;
      for (const auto& [error, count] : client->counts().errors) {
        errors_[error] += count;
      }
    }
    requests_ += clients_->asked();
  }

  // Nobody adds or removes anything: all guards have the same.
  void look_at_all(std::uint32_t first) {
    std::vector<std::vector<Reply>> found(kGuards);
    for (std::uint32_t guard = 0; guard < kGuards; ++guard) {
      FilterClient client(1000 + guard, guard, ports_[guard]);
      // What it says 1 or 0 to has come behind all that was acknowledged.
      ASSERT_TRUE(eventually([&] {
        return client.change(What::add, next_item_).value_or(Reply::unknown) != Reply::unknown;
      })) << logs();
      for (std::uint32_t filter = 0; filter < kRacedFilters.size(); ++filter) {
        look_at(client, first + filter);
      }
      const std::vector<Request> history = client.take_history();
      for (const Request& each : history) {
        if (each.what == What::look) {
          found[guard].push_back(each.reply);
        }
      }
      std::ranges::copy(history, std::back_inserter(history_));
    }
    EXPECT_THAT(found, Each(found.front())) << "guards differ";
    ++next_item_;
  }

  void look_at(FilterClient& client, std::uint32_t first) {
    constexpr std::uint32_t kAtOnce = 500 * kRacedFilters.size();
    for (std::uint32_t item = first; item < next_item_; item += kAtOnce) {
      std::vector<std::uint32_t> items;
      for (std::uint32_t i = item; i < std::min(item + kAtOnce, next_item_);
           i += kRacedFilters.size()) {
        items.push_back(i);
      }
      ASSERT_TRUE(eventually([&] { return client.look(items); })) << logs();
    }
  }

  // Looks that another guard's acknowledgement had not reached, or items of such.
  std::size_t late(milliseconds lag, std::size_t wrong) const {
    return harness::wrong_in(history_, lag).size() - wrong;
  }
  int late_by(std::size_t wrong) const {  // a power of two
    int lag = 1;
    while (milliseconds(lag) < kMayLag && late(milliseconds(lag), wrong) > 0) {
      lag *= 2;
    }
    return lag;
  }

  std::uint32_t seed_ = seed_of_this_run();
  std::mt19937 random_{seed_};
  std::optional<RacingClients> clients_;
  std::vector<Request> history_;
  std::uint32_t next_item_ = 0;
  std::uint64_t requests_ = 0;
  std::uint64_t refused_ = 0;
  std::uint64_t unknown_ = 0;
  std::map<std::string, std::uint64_t> errors_;
  unsigned guard_kills_ = 0;
  unsigned redis_kills_ = 0;
  unsigned snapshots_ = 0;
  unsigned snapshots_cut_ = 0;
};

TEST_F(Chaos, one_is_first_and_nothing_is_lost_whoever_is_killed) {
  const unsigned rounds = rounds_of_this_run(3);
  for (unsigned round = 0; round < rounds && !HasFailure(); ++round) {
    const std::uint32_t first = next_item_;
    race();
    look_at_all(round + 1 == rounds ? 0 : first);
  }
  const std::vector<std::string> wrong = harness::wrong_in(history_, kMayLag);
  for (const std::string& each : wrong | std::views::take(10)) {
    ADD_FAILURE() << each;
  }
  EXPECT_FALSE(HasFailure()) << logs();
  for (const auto& [error, count] : errors_) {
    std::printf("%8llu  %s\n", static_cast<unsigned long long>(count), error.c_str());
  }
  const auto longest = std::ranges::max(
      history_ | std::views::transform([](const Request& each) { return each.end - each.begin; }));
  std::printf(
      "filter_races: seed=%u rounds=%u wrong=%zu items=%u requests=%llu judged=%zu unknown=%llu "
      "refused=%llu guard_kills=%u redis_kills=%u snapshots=%u snapshots_cut=%u late=%zu "
      "late_by_ms=%d longest_ms=%lld\n",
      seed_,
      rounds,
      wrong.size(),
      next_item_,
      static_cast<unsigned long long>(requests_),
      history_.size(),
      static_cast<unsigned long long>(unknown_),
      static_cast<unsigned long long>(refused_),
      guard_kills_,
      redis_kills_,
      snapshots_,
      snapshots_cut_,
      late(milliseconds(0), wrong.size()),
      late_by(wrong.size()),
      static_cast<long long>(std::chrono::duration_cast<milliseconds>(longest).count()));
}

}  // namespace
}  // namespace cuckooguard::harness
