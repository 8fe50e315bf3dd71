// What a server has said of its position, kept until the log has been applied so far.
//
//   add(t, p) … ─▶ take_proven(applied): the latest t whose p is covered
//
// A log that is always a little late proves something all the same. What is older than kUnprovenMax
// questions is so by more than max_lag, and proves nothing: it is forgotten.
//
// Threads: under its lock. Errors: add() is false if the server's position has gone back (RESET
// MASTER, or another server in its place): positions of before mean nothing any more.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>

#include "config/config.h"
#include "mysql/log_position.h"
#include "source/source.h"

namespace cuckooguard::source {

class PositionProofs {
 public:
  static constexpr std::size_t kUnprovenMax = config::kPollsPerMaxLag;

  // Everything anew.
  void begin_at(LogPosition position);
  // What was said may be of another server; what was proven counts.
  void forget_unproven() { unproven_.clear(); }
  // All that was committed before `at` is in the log up to `position`.
  [[nodiscard]] bool add(TimePoint at, const LogPosition& position);
  // Nothing: nothing that was not proven before.
  std::optional<TimePoint> take_proven(const LogPosition& applied);

 private:
  struct Unproven {
    TimePoint at;
    LogPosition position;
  };

  std::deque<Unproven> unproven_;  // oldest first
  LogPosition last_proven_;
};

}  // namespace cuckooguard::source
