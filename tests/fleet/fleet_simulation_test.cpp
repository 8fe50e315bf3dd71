// Fleets, run after run: no follower hides a row, whatever happens to the builders, to Redis and to
// what is in it; and once that ends all of them enforce.
//
//   CUCKOOGUARD_SEED=42 CUCKOOGUARD_RUNS=10000 fleet_simulation_test
#include <cstdio>

#include <gtest/gtest.h>

#include "fleet/fleet_world.h"
#include "fleet/keys.h"
#include "simulation/seeds.h"

namespace cuckooguard::fleet {
namespace {

constexpr std::uint64_t kRuns = 30;

TEST(FleetSimulation, no_follower_hides_a_row_and_all_enforce_in_the_end) {
  const KeyFiles files;
  const SigningKey key = files.signing();
  const VerifyingKeys keys = files.verifying();
  const simulation::Seeds seeds = simulation::chosen_seeds(kRuns);
  FleetOutcome total;
  for (std::uint64_t seed = seeds.first; seed < seeds.end(); ++seed) {
    const FleetOutcome outcome = FleetWorld(seed, key, keys).run();
    ASSERT_EQ(outcome.failure, "")
        << "seed " << seed << ": entries=" << outcome.entries << " takeovers=" << outcome.takeovers
        << " beginnings=" << outcome.beginnings << " breaks=" << outcome.breaks;
    total.checks += outcome.checks;
    total.entries += outcome.entries;
    total.takeovers += outcome.takeovers;
    total.beginnings += outcome.beginnings;
    total.breaks += outcome.breaks;
  }
  std::printf(
      "fleet: seed=%llu runs=%llu entries=%llu checks=%llu takeovers=%llu beginnings=%llu "
      "breaks=%llu virtual_ms=%lld\n",
      static_cast<unsigned long long>(seeds.first),
      static_cast<unsigned long long>(seeds.runs),
      static_cast<unsigned long long>(total.entries),
      static_cast<unsigned long long>(total.checks),
      static_cast<unsigned long long>(total.takeovers),
      static_cast<unsigned long long>(total.beginnings),
      static_cast<unsigned long long>(total.breaks),
      static_cast<long long>(seeds.runs) * (FleetWorld::kChaos + FleetWorld::kCalm) / 1000);
}

}  // namespace
}  // namespace cuckooguard::fleet
