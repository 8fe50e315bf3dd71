// The proxy in a simulated world, run after run. A failure names the seed and the command that
// replays it.
//
//   CUCKOOGUARD_SEED=42 CUCKOOGUARD_RUNS=100 simulation_test    seeds 42 .. 141
//   CUCKOOGUARD_SEED=   CUCKOOGUARD_RUNS=100 simulation_test    from a random seed, which is
//                                                               printed
//   simulation_test --gtest_filter='*shared*'                   one of the two modes
#include "simulation/simulation.h"

#include <cstdio>
#include <string>

#include <gtest/gtest.h>

#include "simulation/seeds.h"

namespace cuckooguard::simulation {
namespace {

// Some ten seconds in release, for each mode.
constexpr std::uint64_t kRuns = 40;
constexpr std::uint64_t kFirst = 101;  // in `shared` pushes are rare: the first hundred have none
// Of the reads that the proxy may answer. Less would mean that it merely relays, and the invariants
// check nothing.
constexpr double kAnsweredShareMin = 0.5;

using Mode = config::UpstreamMode;
using std::chrono::milliseconds;

Outcome run(std::uint64_t seed, Mode mode, Outcome (Simulation::*how)() = &Simulation::run) {
  return run_and_look_for_leaks([&] { return (Simulation(seed, mode).*how)(); });
}

class SimulationOf : public testing::TestWithParam<Mode> {};

void add(LedgerCounts& total, const LedgerCounts& counts) {
  total.commands += counts.commands;
  total.replies += counts.replies;
  total.answered += counts.answered;
  total.shortened += counts.shortened;
  total.could_be_answered += counts.could_be_answered;
  total.pushes += counts.pushes;
}

using Count = unsigned long long;

TEST_P(SimulationOf, every_client_sees_what_redis_would_have_said_but_for_absent_rows) {
  const Seeds seeds = chosen_seeds(kRuns, kFirst);
  const char* const mode = name_of(GetParam());
  std::printf(
      "simulate: mode=%s seeds=%llu..%llu\n", mode, Count{seeds.first}, Count{seeds.end() - 1});
  LedgerCounts total;
  milliseconds virtual_time{};
  std::uint64_t handovers = 0;
  std::uint64_t retired = 0;
  for (std::uint64_t seed = seeds.first; seed < seeds.end(); ++seed) {
    const Outcome outcome = run(seed, GetParam());
    ASSERT_EQ(outcome.failure, "")
        << "seed " << seed << "; replay it with: ./dev simulate " << seed << " 1 " << mode;
    add(total, outcome.counts);
    virtual_time += outcome.virtual_time;
    handovers += outcome.handovers;
    retired += outcome.retired;
  }
  std::printf(
      "simulate: mode=%s seed=%llu runs=%llu commands=%llu replies=%llu answered=%llu of=%llu "
      "shortened=%llu pushes=%llu handovers=%llu retired=%llu virtual_ms=%lld\n",
      mode,
      Count{seeds.first},
      Count{seeds.runs},
      Count{total.commands},
      Count{total.replies},
      Count{total.answered},
      Count{total.could_be_answered},
      Count{total.shortened},
      Count{total.pushes},
      Count{handovers},
      Count{retired},
      static_cast<long long>(virtual_time.count()));
  if (seeds.runs >= kRuns) {  // one run alone may be an unlucky one
    EXPECT_GT(static_cast<double>(total.answered),
              kAnsweredShareMin * static_cast<double>(total.could_be_answered));
    EXPECT_GT(total.answered, total.commands / 30);
    EXPECT_GT(total.shortened, 0U);
    EXPECT_TRUE(total.pushes > 0 || seeds.first != kFirst);
    EXPECT_EQ(retired > 0, GetParam() == Mode::shared);
    EXPECT_EQ(handovers > total.commands / 100, GetParam() == Mode::shared);
  }
}

// In the middle of whatever they do.
TEST_P(SimulationOf, every_client_of_a_process_that_ends_is_let_go_where_its_commands_end) {
  Seeds seeds = chosen_seeds(kRuns);
  if (seeds.runs == kRuns) {
    seeds.runs = kRuns / 4;
  }
  std::size_t let_go = 0;
  std::size_t cut_off = 0;
  for (std::uint64_t seed = seeds.first; seed < seeds.end(); ++seed) {
    const Outcome outcome = run(seed, GetParam(), &Simulation::run_drained);
    ASSERT_EQ(outcome.failure, "") << "seed " << seed;
    let_go += outcome.let_go;
    cut_off += outcome.cut_off;
  }
  std::printf("simulate: mode=%s drained runs=%llu let_go=%zu cut_off=%zu\n",
              name_of(GetParam()),
              Count{seeds.runs},
              let_go,
              cut_off);
  if (seeds.runs >= kRuns / 4) {
    EXPECT_GT(let_go, 2 * seeds.runs);
    EXPECT_LT(cut_off, let_go / 4);
  }
}

// Shared ones, leases, greetings, probes, spares: whatever a connection is for, what waits on it
// does so for a time that is known, and so does who waits for those.
TEST(Simulation, nobody_waits_for_long_beside_connections_that_fall_silent) {
  Seeds seeds = chosen_seeds(kRuns);
  if (seeds.runs == kRuns) {
    seeds.runs = kRuns / 4;
  }
  milliseconds longest{};
  std::size_t silent = 0;
  for (std::uint64_t seed = seeds.first; seed < seeds.end(); ++seed) {
    const Outcome outcome = run(seed, Mode::shared, &Simulation::run_beside_silence);
    ASSERT_EQ(outcome.failure, "") << "seed " << seed;
    longest = std::max(longest, outcome.longest_wait);
    silent += outcome.silent;
  }
  std::printf("simulate: mode=shared runs=%llu silent=%zu longest_wait_ms=%lld\n",
              Count{seeds.runs},
              silent,
              static_cast<long long>(longest.count()));
  if (seeds.runs >= kRuns / 4) {
    EXPECT_GT(silent, seeds.runs);
    EXPECT_GT(longest, milliseconds(2000));
  }
}

TEST_P(SimulationOf, one_seed_is_one_run_whatever_ran_before) {
  for (const std::uint64_t seed : {7U, 8U}) {
    EXPECT_EQ(run(seed, GetParam()).trace_hash, run(seed, GetParam()).trace_hash)
        << "seed " << seed;
  }
  EXPECT_NE(run(7, GetParam()).trace_hash, run(8, GetParam()).trace_hash);
}

INSTANTIATE_TEST_SUITE_P(Mode,
                         SimulationOf,
                         testing::Values(Mode::pinned, Mode::shared),
                         [](const auto& mode) { return name_of(mode.param); });

}  // namespace
}  // namespace cuckooguard::simulation
