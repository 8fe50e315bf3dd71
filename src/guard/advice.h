// One sentence about a namespace that an operator can act on: is it ready for enforce?
//
//   "12 days, 0 hidden rows, 83 % of look-ups would have been stopped; ready for enforce"
//
// Ready means: kComparedMin comparisons with Redis over kWatchedMin, and nothing found against it.
// The sentence begins with what keeps the guard from guarding now, in the words of GUARD.INFO and
// the page; or that reads come in another db, or that nothing has been compared yet; or why most
// reads were not checked. If no read has matched the namespace, it names the likely prefix of the
// keys that were meant. If nothing is tolerated (`tolerate`), it says so in enforce or when ready
// for it.
//
// Threads: any, between Epochs::Reader enter() and leave(); evidence() reads counters of all
// workers, each once, not all at one moment. Limits: counts since the namespace was loaded by this
// process.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "config/config.h"
#include "guard/contradictions.h"
#include "guard/guard.h"
#include "guard/overlay.h"

namespace cuckooguard::guard {

inline constexpr std::uint64_t kComparedMin = 1000;
inline constexpr std::chrono::hours kWatchedMin{1};
// One read in so many in another db is an accident, such as an operator's; more are not.
inline constexpr std::uint64_t kOtherDbShare = 100;
// If no more than one look-up in so many finds a row, all may be false positives (10 % at most).
inline constexpr std::uint64_t kFoundShare = 8;

struct Evidence {
  config::Mode mode = config::Mode::observe;
  bool has_absent_reply = true;
  std::chrono::nanoseconds watched{0};
  std::uint64_t keys = 0;       // of reads
  std::uint64_t absent = 0;     // of them
  std::uint64_t found = 0;      // of them: the filter cannot rule them out
  std::uint64_t not_fresh = 0;  // of them, too
  std::uint64_t other_db = 0;   // of them, too: in another than `db`
  std::uint64_t compared = 0;   // with Redis's reply
  int db = 0;
  double tolerate = 0;  // reads of absent keys per second
  Contradictions::Counts contradictions{};
  filter::AbsentReads::Findings log{};  // what it has shown of absent keys
  bool is_strict = false;
  bool may_be_strict = false;  // its source can be asked as strict needs it
  // Of a sample of reads that were observed in a strict namespace.
  std::uint64_t forecast_answered = 0;
  std::uint64_t forecast_passed = 0;
  std::string why_keys_pass{};  // now; empty: each for its own reason

  // Reads by all clients of any key since the process began; checked ones count once per key.
  struct Reads {
    std::uint64_t all = 0;
    std::uint64_t not_allowed = 0;
    std::uint64_t unavailable = 0;
    std::uint64_t unguarded = 0;
  };
  Reads reads{};

  // If none matched this namespace: the likely prefix of those that were meant
  // (guard/key_shapes.h). Empty: unknown.
  std::size_t templates = 1;
  std::string shape{};
  std::uint64_t reads_of_shape = 0;

  // Just behind their commit, by what the namespace's consistency has not prevented.
  std::uint64_t hidden() const {
    return is_strict ? log.hidden_in_spite_of_proof : log.hidden_by_lag;
  }
  bool has_hardly_found() const { return found <= (found + absent) / kFoundShare; }
  bool is_in_other_db() const { return other_db > 0 && other_db >= keys / kOtherDbShare; }
  bool is_unmatched() const {
    return mode != config::Mode::bypass && keys == 0 && reads.unguarded > 0;
  }
};

// Of all workers. Nothing is known of the process: all of it is zero but what was counted.
Evidence evidence(const Guard::Parts& parts, std::uint32_t ns, TimePoint now);

// What an operator does about them.
std::string_view hint_of_hidden_rows(config::Mode mode);
std::string_view hint_of_lag(const Evidence& seen);  // of rows that are hidden by it

// Empty in bypass: nothing is looked at.
std::string advice(const Evidence& evidence);

}  // namespace cuckooguard::guard
