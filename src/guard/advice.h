// What has been seen of a namespace, in one sentence that an operator can act on: may it be enforced?
//
//   "12 days, 0 hidden rows, 83 % of look-ups would have been stopped; ready for enforce"
//
// Ready means: compared with Redis kComparedMin times, over kWatchedMin, and nothing was found against it.
//
// Called by: GUARD.INFO, and the log (cli/contradiction_thread.h). Threads: any; evidence() reads counters of all workers,
// each once, not all at one moment. Errors: none. Limits: what it counts is of this process, since the namespace came.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "config/config.h"
#include "guard/contradictions.h"
#include "guard/guard.h"
#include "guard/overlay.h"

namespace cuckooguard::guard {

inline constexpr std::uint64_t kComparedMin = 1000;
inline constexpr std::chrono::hours kWatchedMin{1};

struct Evidence {
  config::Mode mode = config::Mode::observe;
  std::chrono::nanoseconds watched{0};
  std::uint64_t keys = 0;      // of reads
  std::uint64_t absent = 0;    // of them
  std::uint64_t compared = 0;  // with Redis's reply
  Contradictions::Counts contradictions{};
};

// Of all workers. Nothing is known of the process: all of it is zero but what was counted.
Evidence evidence(const Guard::Parts& parts, std::uint32_t ns, TimePoint now);

// Empty in bypass: nothing is looked at.
std::string advice(const Evidence& evidence);

}  // namespace cuckooguard::guard
