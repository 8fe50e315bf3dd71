// The guard under attack in a simulated world, run after run (attack_world.h). A failure names its
// seed.
//
//   CUCKOOGUARD_SEED=42 CUCKOOGUARD_RUNS=1000 attack_simulation_test   seeds 42 .. 1041
//   CUCKOOGUARD_CLIENT=5    prints what client 5 sends, runs and receives
//   CUCKOOGUARD_GO_ON=1     counts failures instead of ending with the first
//   attack_simulation_test --gtest_filter='*shared*'    one of the two modes
#include <cstdio>
#include <string>

#include <gtest/gtest.h>

#include "simulation/attack_world.h"
#include "simulation/seeds.h"

namespace cuckooguard::simulation {
namespace {

using Mode = config::UpstreamMode;
using Count = unsigned long long;

// Under ten seconds in release, for each mode.
constexpr std::uint64_t kRuns = 300;

struct Guarded {
  const char* name;
  Mode mode;
  bool moves = false;
};

AttackOutcome run(std::uint64_t seed, const Guarded& guarded) {
  return run_and_look_for_leaks(
      [&] { return AttackWorld(seed, guarded.mode, guarded.moves).run(); });
}

class AttackOn : public testing::TestWithParam<Guarded> {};

TEST_P(AttackOn, nobody_reaches_another_client_or_switches_the_guard_off) {
  const Seeds seeds = chosen_seeds(kRuns);
  const bool goes_on = environment("CUCKOOGUARD_GO_ON").has_value();  // to see how many fail
  AttackOutcome total;
  std::uint64_t failed = 0;
  for (std::uint64_t seed = seeds.first; seed < seeds.end(); ++seed) {
    const AttackOutcome outcome = run(seed, GetParam());
    failed += outcome.failure.empty() ? 0 : 1;
    if (!outcome.failure.empty() && goes_on) {
      std::printf("seed %llu: %s\n", Count{seed}, outcome.failure.c_str());
      continue;
    }
    ASSERT_EQ(outcome.failure, "") << "seed " << seed << "; replay it with: ./dev simulate " << seed
                                   << " 1 " << GetParam().name;
    total.clients += outcome.clients;
    total.commands += outcome.commands;
    total.replies += outcome.replies;
    total.answered += outcome.answered;
    total.pushes += outcome.pushes;
    total.absent_reads += outcome.absent_reads;
    total.absent_reads_passed += outcome.absent_reads_passed;
    total.moves += outcome.moves;
    total.virtual_time += outcome.virtual_time;
  }
  std::printf(
      "attack: mode=%s seed=%llu runs=%llu failed=%llu clients=%llu commands=%llu replies=%llu "
      "answered=%llu pushes=%llu absent=%llu passed=%llu moves=%llu virtual_ms=%lld\n",
      GetParam().name,
      Count{seeds.first},
      Count{seeds.runs},
      Count{failed},
      Count{total.clients},
      Count{total.commands},
      Count{total.replies},
      Count{total.answered},
      Count{total.pushes},
      Count{total.absent_reads},
      Count{total.absent_reads_passed},
      Count{total.moves},
      static_cast<long long>(total.virtual_time.count()));
  EXPECT_EQ(failed, 0U);
  if (seeds.runs >= kRuns) {  // else the invariants check nothing
    EXPECT_GT(total.answered, total.absent_reads / 2);
    EXPECT_GT(total.pushes, 0U);
    EXPECT_GT(total.clients, 5 * seeds.runs);
    EXPECT_EQ(total.moves > seeds.runs, GetParam().moves);
  }
}

TEST_P(AttackOn, one_seed_is_one_run_whatever_ran_before) {
  const std::uint64_t hash = run(7, GetParam()).trace_hash;
  EXPECT_NE(run(8, GetParam()).trace_hash, hash);
  EXPECT_EQ(run(7, GetParam()).trace_hash, hash);
}

INSTANTIATE_TEST_SUITE_P(Mode,
                         AttackOn,
                         testing::Values(Guarded{"pinned", Mode::pinned},
                                         Guarded{"shared", Mode::shared},
                                         Guarded{"moving", Mode::shared, true}),
                         [](const auto& guarded) { return guarded.param.name; });

}  // namespace
}  // namespace cuckooguard::simulation
