// The routing endpoint in front of a cluster whose slots move, whose nodes fail over, and whose
// connections are cut. A failure names its seed: CUCKOOGUARD_SEED=n simulation_test
// --gtest_filter='Routed*'.
#include <chrono>
#include <cstdio>

#include <gtest/gtest.h>

#include "simulation/routed_world.h"
#include "simulation/seeds.h"

namespace cuckooguard::simulation {
namespace {

constexpr std::uint64_t kRuns = 10;

using Count = unsigned long long;

RoutedOutcome run(std::uint64_t seed, RoutedWeather weather = {}) {
  return RoutedWorld(seed, weather).run();
}

config::UpstreamMode mode_of(std::uint64_t seed) {
  return seed % 2 == 0 ? config::UpstreamMode::shared : config::UpstreamMode::pinned;
}

TEST(RoutedSimulation, a_client_sees_of_a_cluster_that_moves_what_one_redis_would_have_said) {
  const Seeds seeds = chosen_seeds(kRuns);
  RoutedOutcome total;
  for (std::uint64_t seed = seeds.first; seed < seeds.end(); ++seed) {
    const RoutedOutcome outcome = run(seed, {.mode = mode_of(seed)});
    ASSERT_EQ(outcome.failure, "") << "seed " << seed;
    total.commands += outcome.commands;
    total.replies += outcome.replies;
    total.refused += outcome.refused;
    total.losses += outcome.losses;
    total.counts.asked += outcome.counts.asked;
    total.counts.moved += outcome.counts.moved;
    total.counts.try_again += outcome.counts.try_again;
    total.counts.down += outcome.counts.down;
  }
  std::printf(
      "simulate: routed seed=%llu runs=%llu commands=%zu replies=%zu refused=%zu losses=%zu "
      "asked=%zu moved=%zu try_again=%zu down=%zu\n",
      Count{seeds.first},
      Count{seeds.runs},
      total.commands,
      total.replies,
      total.refused,
      total.losses,
      total.counts.asked,
      total.counts.moved,
      total.counts.try_again,
      total.counts.down);
  if (seeds.runs >= kRuns) {
    EXPECT_GT(total.counts.asked, total.commands / 100);
    EXPECT_GT(total.counts.moved, total.commands / 1000);
    EXPECT_GT(total.counts.try_again, 0U);
    EXPECT_GT(total.counts.down, 0U);
    EXPECT_GT(total.losses, 0U);
    EXPECT_GT(total.replies, total.commands / 2);
  }
}

TEST(RoutedSimulation, a_cluster_that_stays_as_it_is_refuses_nothing) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const RoutedOutcome outcome =
        run(seed, {.has_faults = false, .has_moves = false, .mode = mode_of(seed)});
    ASSERT_EQ(outcome.failure, "") << "seed " << seed;
    EXPECT_EQ(outcome.replies, outcome.commands);
    EXPECT_EQ(outcome.refused, 0U);
    EXPECT_EQ(outcome.losses, 0U);
  }
}

TEST(RoutedSimulation, who_does_not_need_a_node_that_hangs_does_not_wait_for_it) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    RoutedWorld world(seed, {.has_faults = false, .has_moves = false, .mode = mode_of(seed)});
    const auto longest = world.longest_wait_beside_a_node_that_hangs();
    EXPECT_LT(longest, 3 * routing::Node::kSilentFor) << "seed " << seed;
  }
}

TEST(RoutedSimulation, one_seed_is_one_run) {
  EXPECT_EQ(run(7).trace_hash, run(7).trace_hash);
  EXPECT_NE(run(7).trace_hash, run(8).trace_hash);
}

}  // namespace
}  // namespace cuckooguard::simulation
