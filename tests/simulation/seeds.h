// Which simulated worlds a test program runs, and what holds at the end of each.
//
//   CUCKOOGUARD_SEED   the first; empty: a random one. Unless it is set: 1, and as many as the
//                      program has chosen
//   CUCKOOGUARD_RUNS   how many; 1 if only the seed is set
//
// Errors: std::invalid_argument if either is no number.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <random>
#include <string>

#include "config/config.h"
#include "simulation/proxy_memory.h"

namespace cuckooguard::simulation {

struct Seeds {
  std::uint64_t first = 1;
  std::uint64_t runs = 1;
  std::uint64_t end() const { return first + runs; }
};

inline std::optional<std::string> environment(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

inline Seeds chosen_seeds(std::uint64_t runs_of_program, std::uint64_t first = Seeds{}.first) {
  Seeds seeds{.first = first, .runs = runs_of_program};
  if (const auto seed = environment("CUCKOOGUARD_SEED")) {
    seeds = {.first = seed->empty() ? std::random_device{}() : std::stoull(*seed)};
  }
  if (const auto runs = environment("CUCKOOGUARD_RUNS"); runs && !runs->empty()) {
    seeds.runs = std::stoull(*runs);
  }
  return seeds;
}

inline const char* name_of(config::UpstreamMode mode) {
  return mode == config::UpstreamMode::shared ? "shared" : "pinned";
}

// The outcome of `run`, after which nothing of the proxy may be left.
template <class Run>
auto run_and_look_for_leaks(const Run& run) {
  const std::size_t before = proxy_memory().live;
  auto outcome = run();
  if (outcome.failure.empty() && proxy_memory().live != before) {
    outcome.failure = std::to_string(proxy_memory().live - before) +
                      " bytes of the proxy are left when all of it is gone";
  }
  return outcome;
}

}  // namespace cuckooguard::simulation
