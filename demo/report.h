// What the demo ends with: tables and a chart of all that its phases did, nothing left out.
//
// Threads: any; values.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "load.h"

namespace cuckooguard::demo {

struct PhaseReport {
  std::string name;
  bool is_guarded = false;
  // The guard may pass more than usual: something was done to it or to Redis, or it reads the
  // database again whenever that has changed.
  bool is_disturbed = false;
  std::vector<Sample> samples{};
  std::uint64_t redis_gets = 0;
  // At its end.
  std::uint64_t redis_keys = 0;
  std::uint64_t junk_keys = 0;  // of them, for rows that do not exist
  // Where rows that exist are loaded: the most at a time, with those that waited. Else 0.
  std::uint64_t queries_at_once = 0;
};

// Of an attack, with the guard in front, the database may see so much.
inline constexpr double kReachedShareMax = 0.01;
inline constexpr double kReachedShareMaxDisturbed = 0.2;
// With the guard, so many of the queries at once of the phase of that name without it.
inline constexpr double kAtOnceShareMax = 0.5;

// Of the users' requests, so many more may fail with the guard than without it: a busy machine.
inline constexpr double kFailedShareMore = 0.01;

// No existing row is hidden, the guard stops the attack and lets few load at once, and users do not
// fail more often with it than without it.
bool is_good(std::span<const PhaseReport> phases);

std::string table(std::span<const PhaseReport> phases);
// Of phases in which rows that exist are loaded.
std::string load_table(std::span<const PhaseReport> phases);
// Database queries per second, for a terminal.
std::string chart(std::span<const PhaseReport> phases);
// The same for a page, and how long users wait.
std::string picture(std::span<const PhaseReport> phases, const std::string& title);
// One line for scripts; values of phases in turn, with a slash between them.
std::string machine_line(std::span<const PhaseReport> phases);

}  // namespace cuckooguard::demo
