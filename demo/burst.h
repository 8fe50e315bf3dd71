// A burst of new rows: each is committed, and read at once through the application; once all of
// them are older than max_lag, they are read again. Meanwhile a key that does not exist is looked
// up every few milliseconds, which shows for how long the guard passes.
//
// Threads: the main thread's. A burst makes the same look-ups however fast they are answered,
// except that it goes on probing on a slow machine until the guard answers again.
#pragma once

#include <cstdint>
#include <functional>

#include "cache_aside.h"
#include "users_database.h"

namespace cuckooguard::demo {

inline constexpr int kBurstRows = 100;
inline constexpr std::chrono::milliseconds kBurstPace{2};  // between two rows
inline constexpr int kProbes = 150;
inline constexpr std::chrono::milliseconds kProbePace{10};
inline constexpr int kProbesMax = 1500;
// Probed for the first time here, and by nothing else: absent, and far from every id that is given.
inline constexpr std::uint64_t kProbeId = 5'000'000;
inline constexpr std::uint64_t kProbedIds = 16;  // of a cluster so many are of all its masters

struct BurstResult {
  std::uint64_t hidden_existing = 0;   // answered absent more than max_lag after the commit
  std::uint64_t hidden_in_window = 0;  // answered absent before
  std::uint64_t probes_passed = 0;     // that reached the database
};

// What the application did, look-up by look-up: whether the key exists, and what came back.
using Count = std::function<void(bool exists, Answer answer)>;

// `guarded`: somebody is there who declares keys absent. Throws Interrupted.
BurstResult run_burst(UserWriter& writer,
                      CacheAside& application,
                      bool guarded,
                      const Count& count);

// Whether somebody declares absent keys absent, whichever of a cluster's masters they are of.
bool declares_absent(CacheAside& application, const Count& count);

}  // namespace cuckooguard::demo
