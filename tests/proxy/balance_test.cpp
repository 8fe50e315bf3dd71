// The policy by which clients change workers: its rules one by one, and what comes of it for pools
// of clients of which few are busy, from seeds.
#include "proxy/balance.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "simulation/random.h"

namespace cuckooguard::proxy {
namespace {

using simulation::Random;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// Workers that are so busy, per mille, from one look to the next.
class Looks {
 public:
  std::optional<Balance::Move> look(const std::vector<unsigned>& busy, std::uint64_t moves = 0) {
    worked_.resize(busy.size());
    for (std::size_t i = 0; i < busy.size(); ++i) {
      worked_[i] += Balance::kLookEvery * busy[i] / 1000;
    }
    return balance_.look(worked_, Balance::kLookEvery, moves);
  }
  std::optional<Balance::Move> look_often(const std::vector<unsigned>& busy,
                                          std::uint64_t moves = 0) {
    std::optional<Balance::Move> move;
    for (int i = 0; i < 20; ++i) {
      move = look(busy, moves);
    }
    return move;
  }

 private:
  Balance balance_;
  std::vector<nanoseconds> worked_;
};

TEST(Balance, the_busiest_worker_gives_to_the_least_busy_one) {
  Looks looks;
  const auto move = looks.look_often({500, 900, 300});
  ASSERT_TRUE(move.has_value());
  EXPECT_EQ(move->from, 1U);
  EXPECT_EQ(move->to, 2U);
  EXPECT_NEAR(move->best, 333, 2);  // 300 of 900
}

TEST(Balance, nobody_moves_between_workers_that_are_much_the_same_or_have_little_to_do) {
  EXPECT_FALSE(Looks().look_often({1000, 800}));
  EXPECT_FALSE(Looks().look_often({450, 0}));
  EXPECT_FALSE(Looks().look_often({1000}));
}

TEST(Balance, a_moment_is_not_enough) {
  Looks looks;
  looks.look_often({100, 100});
  EXPECT_FALSE(looks.look({900, 100}));
}

TEST(Balance, a_client_with_most_of_the_difference_stays) {
  EXPECT_EQ(Balance::distance(400, 400), 0U);
  EXPECT_EQ(Balance::distance(300, 400), 100U);
  EXPECT_EQ(Balance::distance(600, 400), 200U);
  EXPECT_FALSE(Balance::distance(601, 400));
  EXPECT_FALSE(Balance::distance(0, 400));  // moving it changes nothing
}

TEST(Balance, the_loads_must_show_a_move_before_the_next) {
  Looks looks;
  looks.look_often({1000, 0});
  for (unsigned i = 0; i < Balance::kSettle; ++i) {
    EXPECT_FALSE(looks.look({1000, 0}, 1));
  }
  EXPECT_TRUE(looks.look({1000, 0}, 1));
}

TEST(Balance, clients_whose_load_comes_and_goes_cannot_keep_others_moving) {
  Looks looks;
  std::uint64_t moves = 0;
  constexpr unsigned kLooks = 100 * Balance::kMoveEvery;
  for (unsigned i = 0; i < kLooks; ++i) {
    const bool is_left = i / 30 % 2 == 0;
    const auto move = looks.look({is_left ? 1000U : 0U, is_left ? 0U : 1000U}, moves);
    moves += move ? 1 : 0;
  }
  EXPECT_LE(moves, Balance::kMovesAtOnce + kLooks / Balance::kMoveEvery);
  EXPECT_GE(moves, kLooks / Balance::kMoveEvery);
}

// --- a simulation: 100 ms at a time ---

struct Pool {
  const char* name;
  std::size_t workers;
  std::size_t clients;
  unsigned load;          // of all workers, per cent: what the busy clients want together
  bool comes_and_goes;    // each busy client, every ten seconds to two minutes
  unsigned change_every;  // steps: another client comes in somebody's place; 0: never
};

constexpr auto kPools = std::to_array<Pool>({
    {"200 clients, 2 workers", 2, 200, 50, false, 0},
    {"200 clients, 4 workers", 4, 200, 50, false, 0},
    {"40 clients, 8 workers", 8, 40, 50, false, 0},
    {"on and off, 4 workers", 4, 200, 80, true, 0},
    {"on and off, 8 workers", 8, 200, 80, true, 0},
    {"one comes per second, 4 workers", 4, 100, 50, false, 10},
});

enum class Policy : std::uint8_t {
  fewest_clients,  // where a client begins it stays
  least_busy,      // the same; it begins where there is least to do, by eighths of a core
  moves,           // fewest_clients, and Balance
};

struct Result {
  std::uint64_t steps = 0;
  std::uint64_t uneven = 0;  // a worker has no time left, and another less than half to do
  std::uint64_t moves = 0;
};

class Simulation {
 public:
  Simulation(std::uint64_t seed, const Pool& pool, Policy policy)
      : random_(seed), pool_(pool), policy_(policy), worked_(pool.workers), busy_(pool.workers) {
    std::vector<bool> is_busy(pool.clients);
    for (unsigned wanted = 0; wanted < pool.load * 10 * pool.workers; wanted += kMeanDemand) {
      is_busy[random_.below(pool.clients)] = true;
    }
    for (const bool one : is_busy) {
      accept(one);
    }
  }

  Result run(unsigned steps) {
    for (; result_.steps < steps; ++result_.steps) {
      step();
      if ((result_.steps + 1) % kStepsPerLook == 0) {
        look();
      }
    }
    return result_;
  }

 private:
  static constexpr unsigned kMeanDemand = 325;
  static constexpr milliseconds kStep{100};
  static constexpr unsigned kStepsPerLook = Balance::kLookEvery / kStep;

  struct Client {
    std::size_t worker = 0;
    unsigned demand = 0;  // per mille of a core
    unsigned now = 0;     // of it, or next to nothing
    std::uint64_t turns = 0;
    std::uint64_t work = 0;
  };

  std::uint64_t clients_of(std::size_t worker) const {
    return static_cast<std::uint64_t>(std::ranges::count(clients_, worker, &Client::worker));
  }

  void accept(bool is_busy) {
    std::size_t chosen = 0;
    const auto rank = [this](std::size_t worker) {
      return std::pair(policy_ == Policy::least_busy ? busy_[worker] / 125 : 0, clients_of(worker));
    };
    for (std::size_t worker = 1; worker < pool_.workers; ++worker) {
      chosen = rank(worker) < rank(chosen) ? worker : chosen;
    }
    const auto demand =
        static_cast<unsigned>(is_busy ? random_.between(50, 600) : random_.below(4));
    clients_.push_back({.worker = chosen, .demand = demand, .now = demand, .turns = turn()});
  }
  std::uint64_t turn() { return random_.between(100, 1200); }

  void step() {
    if (pool_.change_every > 0 && random_.one_in(pool_.change_every)) {
      const auto who = static_cast<std::ptrdiff_t>(random_.below(clients_.size()));
      const bool was_busy = clients_[static_cast<std::size_t>(who)].demand >= 50;
      clients_.erase(clients_.begin() + who);
      accept(was_busy);
    }
    std::vector<unsigned> wanted(pool_.workers);
    for (Client& client : clients_) {
      if (pool_.comes_and_goes && client.demand >= 50 && --client.turns == 0) {
        client.now = client.now == client.demand ? 1 : client.demand;
        client.turns = turn();
      }
      wanted[client.worker] += client.now;
    }
    for (Client& client : clients_) {  // who shares a worker without time gets less
      client.work += client.now * 1000 / std::max(1000U, wanted[client.worker]);
    }
    for (std::size_t i = 0; i < pool_.workers; ++i) {
      worked_[i] += kStep * std::min(1000U, wanted[i]) / 1000;
      busy_[i] = (busy_[i] * 7 + std::min(1000U, wanted[i])) / 8;
    }
    const auto [least, most] = std::ranges::minmax(wanted);
    result_.uneven += most >= 950 && least < 500 ? 1 : 0;
  }

  void look() {
    if (policy_ == Policy::moves) {
      if (const auto move = balance_.look(worked_, Balance::kLookEvery, result_.moves)) {
        give_one(*move);
      }
    }
    for (Client& client : clients_) {
      client.work = 0;
    }
  }

  // As Clients::choose().
  void give_one(const Balance::Move& move) {
    std::uint64_t total = 1;
    for (const Client& client : clients_) {
      total += client.worker == move.from ? client.work : 0;
    }
    Client* chosen = nullptr;
    unsigned least = ~0U;
    for (Client& client : clients_) {
      const auto distance =
          Balance::distance(static_cast<unsigned>(client.work * 1000 / total), move.best);
      if (client.worker == move.from && distance && *distance < least) {
        least = *distance;
        chosen = &client;
      }
    }
    if (chosen != nullptr) {
      chosen->worker = move.to;
      ++result_.moves;
    }
  }

  Random random_;
  const Pool& pool_;
  Policy policy_;
  Balance balance_;
  std::vector<Client> clients_;
  std::vector<nanoseconds> worked_;
  std::vector<unsigned> busy_;
  Result result_;
};

constexpr unsigned kSeeds = 30;
constexpr unsigned kSteps = 6000;  // ten minutes

Result run(const Pool& pool, Policy policy) {
  Result all;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Result one = Simulation(seed, pool, policy).run(kSteps);
    all.steps += one.steps;
    all.uneven += one.uneven;
    all.moves += one.moves;
    EXPECT_LE(one.moves, Balance::kMovesAtOnce + kSteps / 100) << pool.name << ", seed " << seed;
  }
  return all;
}

TEST(Balance, a_few_busy_clients_on_one_worker_do_not_leave_others_idle) {
  for (const Pool& pool : kPools) {
    const Result stays = run(pool, Policy::fewest_clients);
    const Result by_load = run(pool, Policy::least_busy);
    const Result moves = run(pool, Policy::moves);
    const auto share = [](const Result& of) {
      return 100.0 * static_cast<double>(of.uneven) / static_cast<double>(of.steps);
    };
    const double per_minute =
        600.0 * static_cast<double>(moves.moves) / static_cast<double>(moves.steps);
    std::printf(
        "%-32s uneven: fewest clients %4.1f %%, least busy %4.1f %%, moves %4.1f %% "
        "(%.1f a minute)\n",
        pool.name,
        share(stays),
        share(by_load),
        share(moves),
        per_minute);
    EXPECT_GT(share(stays), 20) << pool.name;  // else there is nothing to be seen
    EXPECT_LT(share(moves), share(stays) / 5) << pool.name;
    EXPECT_LT(share(moves), share(by_load)) << pool.name;
    if (!pool.comes_and_goes && pool.change_every == 0) {
      EXPECT_LT(share(moves), 1) << pool.name;
    }
  }
}

}  // namespace
}  // namespace cuckooguard::proxy
