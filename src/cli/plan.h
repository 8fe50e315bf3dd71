// `cuckooguard plan`: how many rows each namespace has, and how much memory its filters take:
// normally, and during a rebuild, when the next filter exists beside the current one. This helps to
// set a container's limit. Also how many look-ups of non-existent rows the guards will let through
// to the database (tolerate).
//
// Threads: the main thread's; databases are only read.
// Errors: a sentence, with its namespaces, for each source that could not be asked, or that a start
//   would refuse (grants, the log's settings, tables); the others are there all the same.
// Not included: the process itself, its clients (limits), changes that wait while a table is read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/guests.h"
#include "cli/flags.h"
#include "filter/sizing.h"

namespace cuckooguard::cli {

struct ShowPlan {
  ConfigFlags config;
  unsigned guards = 1;  // that have this configuration

  Parser add(Parser app);
  int run(const app::Guests& guests) const;
};

struct PlannedTable {
  std::string ns;
  std::string table;  // empty: a file
  std::uint64_t rows = 0;
  bool is_estimate = false;
  std::string_view why_unknown{};  // not empty: what follows says nothing
  filter::Sizing sizing{};
  std::uint64_t steady = 0;   // bytes
  std::uint64_t rebuild = 0;  // bytes, at most
};

struct Plan {
  std::vector<PlannedTable> tables;
  std::uint64_t steady = 0;
  std::uint64_t rebuild = 0;
  std::uint64_t overlays = 0;  // at most
  double tolerated = 0;        // look-ups per second of rows that do not exist, of each guard
  bool is_published = false;   // to a fleet
  std::uint64_t in_redis = 0;  // bytes of its snapshots
  std::vector<std::string> failures;
  std::vector<std::string> checked;  // sources of which a start would refuse nothing
};

Plan make_plan(const config::Config& config, const app::Guests& guests);

// A table for people; `guards` have this configuration.
std::string describe(const Plan& plan, unsigned guards = 1);

}  // namespace cuckooguard::cli
