// What the demo has found: a table for people, and one line for machines.
#pragma once

#include <string>

#include "phase.h"

namespace cuckooguard::demo {

struct Verdict {
  PhaseResult without;
  PhaseResult with;
  bool is_of_cluster = false;

  // Rows committed more than max_lag ago that were answered absent, in either phase.
  std::uint64_t hidden_existing() const;
  std::uint64_t hidden_in_window() const;
  // Of the absent look-ups with the guard, the share that reached neither Redis nor the database.
  double stopped_share() const;
  bool is_good() const;
};

inline constexpr double kStoppedShareMin = 0.99;

std::string table(const Verdict& verdict);
// `source_is_followed`: the guard learns rows from a log, and does not read the table again.
std::string inserts_line(const Verdict& verdict, bool source_is_followed);
// Of a cluster that has changed.
std::string changes_line(const Verdict& verdict);
std::string machine_line(const Verdict& verdict);

}  // namespace cuckooguard::demo
