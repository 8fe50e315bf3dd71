// `fresh_ids`: how many ids above the largest one in the snapshot must pass.
//
// A row inserted a moment ago has an id just above the largest in the snapshot. Until the source
// has seen the commit, such ids pass. `auto` makes the window max(16, 4 x the inserts seen per
// max_lag), so that it covers a burst four times as fast as any of late and is still no hole worth
// an attacker's time: 16 ids for a quiet table. A burst is remembered with half its weight per
// snapshot.
//
// Threads: the source's.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "config/config.h"

namespace cuckooguard::source {

class GrowthWindow {
 public:
  static constexpr std::uint64_t kIdsMin = 16;
  static constexpr std::uint64_t kTimesInserts = 4;

  GrowthWindow(const config::FreshIds& wanted, std::chrono::nanoseconds max_lag)
      : wanted_(wanted), max_lag_(max_lag) {}

  // A snapshot whose largest id is `largest`; the inserts since the one before it took `elapsed` at
  // most. `grows`: new rows get the next id. Returns the window to use from now on.
  std::uint64_t next(std::uint64_t largest, std::chrono::nanoseconds elapsed, bool grows);

 private:
  config::FreshIds wanted_;
  std::chrono::nanoseconds max_lag_;
  std::optional<std::uint64_t> largest_;
  std::uint64_t inserts_per_lag_ = 0;
};

}  // namespace cuckooguard::source
