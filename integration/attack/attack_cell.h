// One attack, measured: a guard with its Redis, attackers of one kind, and bystanders who read
// absent keys beside them, with a command that nobody else uses (kBystanders), so that Redis itself
// counts what has reached it.
//
//   no_login   Redis wants a password and they have none
//   no_rights  a user with -@all +ping
//   ordinary   a user with ~* &* +@read +@write -@admin -@dangerous
//
// Threads: its own. Errors: as RawClient's, of bystanders: they must never be closed or wait for
// ever.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cuckooguard::attack {

struct AttackCell {
  std::string mode;  // pinned, shared
  std::string who;
  std::size_t connections = 1;

  // Of the bystanders' reads that may reach Redis.
  double share_max() const { return who == "ordinary" ? 0.05 : 0.01; }
};

// Every one; those with one connection first.
std::vector<AttackCell> all_attack_cells();

struct AttackResult {
  std::uint64_t asked = 0;
  std::uint64_t reached_redis = 0;
  std::uint64_t wrong = 0;  // replies that Redis would not have given
  std::uint64_t attack_bytes = 0;
  std::uint64_t attack_connects = 0;

  double share() const {
    return asked == 0 ? 1 : static_cast<double>(reached_redis) / static_cast<double>(asked);
  }
};

AttackResult attack(const AttackCell& cell, std::chrono::milliseconds time, std::uint32_t seed);

// One line for machines.
std::string line_of(const AttackCell& cell,
                    std::chrono::milliseconds time,
                    std::uint32_t seed,
                    const AttackResult& result);

}  // namespace cuckooguard::attack
