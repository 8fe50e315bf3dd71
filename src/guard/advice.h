// What has been seen of a namespace, in one sentence that an operator can act on: may it be
// enforced?
//
//   "12 days, 0 hidden rows, 83 % of look-ups would have been stopped; ready for enforce"
//
// Ready means: compared with Redis kComparedMin times, over kWatchedMin, and nothing was found
// against it. First is said what keeps the guard from guarding now, in the words of GUARD.INFO and
// the page; else that its reads come in another db than the namespace's, or that nothing has been
// compared yet: nothing is called ready, or well, then. Else what has kept it from looking at most
// reads. Of a namespace that no read has matched it is told how those begin that may be meant for
// it. Where nothing is tolerated (`tolerate`) it says so to whoever enforces, or may.
//
// Threads: any, between Epochs::Reader enter() and leave(); evidence() reads counters of all
// workers, each once, not all at one moment. Limits: what it counts is of this process, since the
// namespace came.
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
// One read of so many in another db is an accident, such as an operator's look; more are not.
inline constexpr std::uint64_t kOtherDbShare = 100;
// Where no more than one look-up of so many has found a row, all of them may be false positives,
// which are 10 % at most.
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

  // Reads by all clients, of whatever key, since the process began. Those of several keys count as
  // several, if they were looked at.
  struct Reads {
    std::uint64_t all = 0;
    std::uint64_t not_allowed = 0;
    std::uint64_t unavailable = 0;
    std::uint64_t unguarded = 0;
  };
  Reads reads{};

  // If none was of this namespace, how unguarded ones begin that may be meant for it
  // (guard/key_shapes.h). Empty: not known.
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
