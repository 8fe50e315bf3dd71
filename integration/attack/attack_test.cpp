// Nobody can switch the guard off, whatever they send: for a moment, from one connection each.
// `./dev attack` is the long form.

#include <ostream>

#include <gtest/gtest.h>

#include "attack/attack_cell.h"
#include "harness/seed.h"

namespace cuckooguard::attack {

void PrintTo(const AttackCell& cell, std::ostream* out) {
  *out << cell.mode << " " << cell.who;
}

namespace {

constexpr std::chrono::milliseconds kMoment{2000};

class Attack : public testing::TestWithParam<AttackCell> {};

TEST_P(Attack, leaves_other_clients_absent_reads_to_the_guard) {
  const std::uint32_t seed = harness::seed_of_this_run();
  const AttackResult result = attack(GetParam(), kMoment, seed);
  const std::string line = line_of(GetParam(), kMoment, seed, result);
  std::printf("attack: %s\n", line.c_str());
  EXPECT_EQ(result.wrong, 0U) << line;
  EXPECT_GT(result.asked, 100U) << line;
  EXPECT_LT(result.share(), GetParam().share_max()) << line;
}

std::vector<AttackCell> from_one_connection() {
  std::vector<AttackCell> cells = all_attack_cells();
  std::erase_if(cells, [](const AttackCell& cell) { return cell.connections > 1; });
  return cells;
}

INSTANTIATE_TEST_SUITE_P(By,
                         Attack,
                         testing::ValuesIn(from_one_connection()),
                         [](const auto& cell) { return cell.param.mode + "_" + cell.param.who; });

}  // namespace
}  // namespace cuckooguard::attack
