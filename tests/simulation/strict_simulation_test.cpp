// Strict namespaces, run after run: no absent reply to a read of a row that had been committed
// before it was sent, nobody waits for longer than a read may be held, and most absent keys are
// answered.
//
//   CUCKOOGUARD_SEED=42 CUCKOOGUARD_RUNS=1000 strict_simulation_test
#include <algorithm>
#include <cstdio>

#include <gtest/gtest.h>

#include "simulation/seeds.h"
#include "simulation/strict_world.h"

namespace cuckooguard::simulation {
namespace {

constexpr std::uint64_t kRuns = 20;
constexpr std::chrono::milliseconds kTime{1500};

TEST(StrictSimulation, no_absent_reply_contradicts_a_commit_before_its_read) {
  const Seeds seeds = chosen_seeds(kRuns);
  StrictOutcome total;
  for (std::uint64_t seed = seeds.first; seed < seeds.end(); ++seed) {
    const StrictOutcome outcome =
        run_and_look_for_leaks([seed] { return StrictWorld(seed).run(kTime); });
    ASSERT_EQ(outcome.failure, "") << "seed " << seed;
    ASSERT_LE(outcome.slowest, StrictWorld::kPatience) << "seed " << seed;
    total.reads += outcome.reads;
    total.absent += outcome.absent;
    total.nowhere += outcome.nowhere;
    total.questions += outcome.questions;
    total.slowest = std::max(total.slowest, outcome.slowest);
  }
  std::printf(
      "strict: seed=%llu runs=%llu reads=%llu absent=%llu of=%llu questions=%llu "
      "slowest_us=%lld virtual_ms=%lld\n",
      static_cast<unsigned long long>(seeds.first),
      static_cast<unsigned long long>(seeds.runs),
      static_cast<unsigned long long>(total.reads),
      static_cast<unsigned long long>(total.absent),
      static_cast<unsigned long long>(total.nowhere),
      static_cast<unsigned long long>(total.questions),
      static_cast<long long>(total.slowest.count() / 1000),
      static_cast<long long>(seeds.runs) * kTime.count());
  // Readers that do not wait for replies have others in flight: theirs mostly go to Redis.
  EXPECT_GT(total.absent, total.nowhere / 4) << "less would mean that it merely forwards";
  EXPECT_GT(total.absent, seeds.runs * 300);
}

}  // namespace
}  // namespace cuckooguard::simulation
