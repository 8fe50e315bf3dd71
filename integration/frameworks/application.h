// An application of integration/frameworks, and what its look-ups have come to: see lookups.py
// there.
//
// Threads: the test's main thread. Errors: a program that fails fails the test.
#pragma once

#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "frameworks/guarded_cache.h"

namespace cuckooguard::harness {

// Rows 1 to kRows are there before it runs.
inline constexpr std::uint64_t kRows = 1000;
inline constexpr std::uint64_t kExistingLookups = 5;
inline constexpr std::size_t kAbsentLookups = 50;
// Inserted while it runs, once it has been looked up in vain.
inline constexpr std::uint64_t kLater = 2'000'000;

struct Application {
  std::vector<std::string> program;  // to be followed by port, address and ids
  std::string keys;                  // as the cache layer makes them, with `{id}`
  std::string absent_reply;          // made for it
};

// "step=first lookups=5 found=5 database_queries=5"
struct Step {
  std::uint64_t lookups = 0;
  std::uint64_t found = 0;
  std::uint64_t database_queries = 0;

  bool operator==(const Step&) const = default;
  friend void PrintTo(const Step& step, std::ostream* out) {
    *out << step.lookups << " look-ups, " << step.found << " found, " << step.database_queries
         << " database queries";
  }
};

// A line's key=value.
std::map<std::string, std::string> values_of(const std::string& line);
std::uint64_t number(const std::string& text);
std::string in_hex(std::string_view bytes);

enum class Later : bool { not_inserted, inserted };

// Its steps, by name: first, again, absent, later.
std::map<std::string, Step> run_application(const Application& application,
                                            const GuardedCache& cache,
                                            const Users& users,
                                            Later later);

}  // namespace cuckooguard::harness
