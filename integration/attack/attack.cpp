// attack SECONDS [SEED]
//
// What attackers can do to others: of the reads of absent keys by other clients, how many reach
// Redis. Every kind of attacker, from one connection and from 500, in both modes, each for so long
// (attack_cell.h). Exits with 1 if more than promised do, or if a bystander is told something
// wrong. The last line is for machines.

#include <algorithm>
#include <cstdio>

#include "attack/attack_cell.h"
#include "harness/run_main.h"
#include "harness/seed.h"

namespace cuckooguard::attack {
namespace {

int run(std::uint32_t seconds, std::uint32_t seed) {
  const std::chrono::milliseconds time = std::chrono::seconds(seconds);
  double worst = 0;       // of those without rights
  double worst_ours = 0;  // of those with an ordinary login
  std::uint64_t wrong = 0;
  int failed = 0;
  for (const AttackCell& cell : all_attack_cells()) {
    const AttackResult result = attack(cell, time, seed);
    std::printf("%s\n", line_of(cell, time, seed, result).c_str());
    std::fflush(stdout);
    double& of_its_kind = cell.who == "ordinary" ? worst_ours : worst;
    of_its_kind = std::max(of_its_kind, result.share());
    wrong += result.wrong;
    failed += result.wrong > 0 || result.share() >= cell.share_max() ? 1 : 0;
  }
  constexpr double kPercent = 100;
  std::printf("attack: seed=%u seconds=%u refused=%.3f%% ordinary=%.3f%% wrong=%llu failed=%d\n",
              seed,
              seconds,
              kPercent * worst,
              kPercent * worst_ours,
              static_cast<unsigned long long>(wrong),
              failed);
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace cuckooguard::attack

int main(int count, char** words) {
  using namespace cuckooguard::attack;
  const auto [seconds, seed] =
      cuckooguard::harness::run_arguments({words, static_cast<std::size_t>(count)});
  return cuckooguard::harness::run_main("attack", [&] { return run(seconds, seed); });
}
