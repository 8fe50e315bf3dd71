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
#include <utility>

#include "config/config.h"
#include "source/source.h"

namespace cuckooguard::source {

template <class Position>
class PositionProofs {
 public:
  static constexpr std::size_t kUnprovenMax = config::kPollsPerMaxLag;

  // Everything anew.
  void begin_at(Position position) {
    last_proven_ = std::move(position);
    unproven_.clear();
  }
  // What was said may be of another server; what was proven counts.
  void forget_unproven() { unproven_.clear(); }
  // All that was committed before `at` is in the log up to `position`.
  [[nodiscard]] bool add(TimePoint at, const Position& position) {
    const Position& before = unproven_.empty() ? last_proven_ : unproven_.back().position;
    if (!position.covers(before)) {
      unproven_.clear();
      return false;
    }
    if (unproven_.size() == kUnprovenMax) {
      unproven_.pop_front();
    }
    unproven_.push_back({.at = at, .position = position});
    return true;
  }
  // Nothing: nothing that was not proven before.
  std::optional<TimePoint> take_proven(const Position& applied) {
    std::optional<TimePoint> proven;
    while (!unproven_.empty() && applied.covers(unproven_.front().position)) {
      proven = unproven_.front().at;
      last_proven_ = std::move(unproven_.front().position);
      unproven_.pop_front();
    }
    return proven;
  }

 private:
  struct Unproven {
    TimePoint at;
    Position position;
  };

  std::deque<Unproven> unproven_;  // oldest first
  Position last_proven_;
};

}  // namespace cuckooguard::source
