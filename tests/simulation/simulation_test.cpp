// The proxy in a simulated world, run after run. A failure names the seed and the command that replays it.
//
//   CUCKOOGUARD_SEED=42 CUCKOOGUARD_RUNS=100 simulation_test    seeds 42 .. 141
//   CUCKOOGUARD_SEED=   CUCKOOGUARD_RUNS=100 simulation_test    from a random seed, which is printed
#include "simulation/simulation.h"

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "simulation/proxy_memory.h"

namespace cuckooguard::simulation {
namespace {

// About ten seconds in release.
constexpr std::uint64_t kFirstSeed = 1;
constexpr std::uint64_t kRuns = 40;
// Of the reads that the proxy may answer. Less would mean that it merely relays, and the invariants check nothing.
constexpr double kAnsweredShareMin = 0.5;

struct Seeds {
  std::uint64_t first = kFirstSeed;
  std::uint64_t runs = kRuns;
};

std::optional<std::string> environment(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

Seeds chosen_seeds() {
  Seeds seeds;
  if (const auto seed = environment("CUCKOOGUARD_SEED")) {
    seeds = {.first = seed->empty() ? std::random_device{}() : std::stoull(*seed), .runs = 1};
    if (const auto runs = environment("CUCKOOGUARD_RUNS"); runs && !runs->empty()) {
      seeds.runs = std::stoull(*runs);
    }
  }
  return seeds;
}

Outcome run(std::uint64_t seed) {
  const std::size_t memory_before = proxy_memory().live;
  Outcome outcome = Simulation(seed).run();
  if (outcome.failure.empty() && proxy_memory().live != memory_before) {
    outcome.failure = std::to_string(proxy_memory().live - memory_before) +
                      " bytes of the proxy are left when all of it is gone";
  }
  return outcome;
}

TEST(Simulation, every_client_sees_what_redis_would_have_said_but_for_absent_rows) {
  const Seeds seeds = chosen_seeds();
  std::printf("simulate: seeds=%llu..%llu\n",
              static_cast<unsigned long long>(seeds.first),
              static_cast<unsigned long long>(seeds.first + seeds.runs - 1));
  LedgerCounts total;
  for (std::uint64_t seed = seeds.first; seed < seeds.first + seeds.runs; ++seed) {
    const Outcome outcome = run(seed);
    ASSERT_EQ(outcome.failure, "")
        << "seed " << seed << "; replay it with: ./dev simulate " << seed;
    total.commands += outcome.counts.commands;
    total.replies += outcome.counts.replies;
    total.answered += outcome.counts.answered;
    total.shortened += outcome.counts.shortened;
    total.could_be_answered += outcome.counts.could_be_answered;
    total.pushes += outcome.counts.pushes;
  }
  std::printf(
      "simulate: seed=%llu runs=%llu commands=%llu replies=%llu answered=%llu of=%llu "
      "shortened=%llu\n",
      static_cast<unsigned long long>(seeds.first),
      static_cast<unsigned long long>(seeds.runs),
      static_cast<unsigned long long>(total.commands),
      static_cast<unsigned long long>(total.replies),
      static_cast<unsigned long long>(total.answered),
      static_cast<unsigned long long>(total.could_be_answered),
      static_cast<unsigned long long>(total.shortened));
  if (seeds.runs >= kRuns) {  // one run alone may be an unlucky one
    EXPECT_GT(static_cast<double>(total.answered),
              kAnsweredShareMin * static_cast<double>(total.could_be_answered));
    EXPECT_GT(total.answered, total.commands / 20);
    EXPECT_GT(total.shortened, 0U);
    EXPECT_GT(total.pushes, 0U);
  }
}

TEST(Simulation, one_seed_is_one_run_whatever_ran_before) {
  for (const std::uint64_t seed : {7U, 8U}) {
    EXPECT_EQ(run(seed).trace_hash, run(seed).trace_hash) << "seed " << seed;
  }
  EXPECT_NE(run(7).trace_hash, run(8).trace_hash);
}

}  // namespace
}  // namespace cuckooguard::simulation
