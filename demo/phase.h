// One phase of the demo: client threads send a seeded mix of existing keys and a penetration attack
// of random absent ids through the application, as fast as they are answered, while the main thread
// inserts bursts of new rows.
//
// Both phases make the same look-ups, one straight at Redis, one through the guard. During a burst
// the clients keep to kCalmPace: with SQLite each commit makes the guard pass everything until it
// has read the table again, so bursts in the middle of an attack would show the attack on Redis,
// not the guard. So they do while a cluster changes, between two bursts. Throughput and p99 leave
// all that out.
//
// Threads: run_phase is the main thread's; it starts and joins the clients'. Errors:
// std::runtime_error, Interrupted.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "burst.h"
#include "cache.h"
#include "endpoint.h"
#include "progress_line.h"
#include "users_database.h"

namespace cuckooguard::demo {

inline constexpr int kBursts = 2;
inline constexpr std::chrono::milliseconds kCalmPace{8};  // between two look-ups of a client
inline constexpr std::uint16_t kMovedSlots = 500;         // of a cluster's

struct Mix {
  std::uint64_t seed = 1;
  std::uint64_t users = 1'000'000;  // ids 1 to users exist
  std::uint64_t lookups = 300'000;  // of all clients together
  unsigned clients = 4;
  unsigned existing_percent = 20;
};

// What the application knows.
struct Tally {
  std::uint64_t lookups = 0;
  std::uint64_t absent_lookups = 0;  // of keys that do not exist
  std::uint64_t database_queries = 0;
  std::uint64_t absent_database_queries = 0;
  std::uint64_t existing_answered_absent = 0;
  std::uint64_t errors = 0;  // look-ups that came to nothing

  void count(bool exists, Answer answer);
  void add(const Tally& other);
};

struct PhaseResult {
  Tally tally;
  BurstResult bursts;  // both together
  std::uint64_t redis_gets = 0;
  Detours detours;                         // of all clients
  std::chrono::milliseconds unguarded{0};  // after changes of a cluster, until the guard is back
  double lookups_per_second = 0;
  std::chrono::nanoseconds p99{0};

  // GETs that Redis saw beyond the one for each look-up of an existing key.
  std::uint64_t absent_gets() const;
};

// Something that is done to a cluster; returns when it is over.
struct Change {
  std::string what;
  std::function<void()> run;
};

struct Stage {
  std::string name;
  const UsersDatabase& database;
  Endpoint redis;                 // for its counters
  Endpoint cache;                 // where the application connects: Redis or the guard
  std::vector<Change> changes{};  // in turn, halfway

  bool is_guarded() const { return cache != redis; }
};

PhaseResult run_phase(const Stage& stage, const Mix& mix, ProgressLine& progress);

}  // namespace cuckooguard::demo
