// Clients that wait for another one's load, run after run (load_world.h).
//
//   CUCKOOGUARD_SEED=42 CUCKOOGUARD_RUNS=1000 load_simulation_test
#include <cstdio>

#include <gtest/gtest.h>

#include "simulation/load_world.h"
#include "simulation/seeds.h"

namespace cuckooguard::simulation {
namespace {

constexpr std::uint64_t kRuns = 30;
constexpr std::chrono::milliseconds kTime{3000};

TEST(LoadSimulation, who_waits_is_freed_in_time_with_what_redis_has) {
  const Seeds seeds = chosen_seeds(kRuns);
  LoadOutcome total;
  for (std::uint64_t seed = seeds.first; seed < seeds.end(); ++seed) {
    const LoadOutcome outcome =
        run_and_look_for_leaks([seed] { return LoadWorld(seed).run(kTime); });
    ASSERT_EQ(outcome.failure, "") << "seed " << seed;
    total.reads += outcome.reads;
    total.misses += outcome.misses;
    total.held += outcome.held;
    total.spared += outcome.spared;
    total.timed_out += outcome.timed_out;
    total.let_go += outcome.let_go;
    total.taken_over += outcome.taken_over;
  }
  std::printf(
      "loads: seed=%llu runs=%llu reads=%llu misses=%llu held=%llu spared=%llu "
      "timed_out=%llu let_go=%llu taken_over=%llu\n",
      static_cast<unsigned long long>(seeds.first),
      static_cast<unsigned long long>(seeds.runs),
      static_cast<unsigned long long>(total.reads),
      static_cast<unsigned long long>(total.misses),
      static_cast<unsigned long long>(total.held),
      static_cast<unsigned long long>(total.spared),
      static_cast<unsigned long long>(total.timed_out),
      static_cast<unsigned long long>(total.let_go),
      static_cast<unsigned long long>(total.taken_over));
  EXPECT_GT(total.spared, total.held / 4) << "most waits end with the value";
  EXPECT_GT(total.spared, seeds.runs);
  EXPECT_GT(total.timed_out, 0);
  EXPECT_GT(total.let_go, 0);
  EXPECT_GT(total.taken_over, 0);
}

}  // namespace
}  // namespace cuckooguard::simulation
