// What a server has said of its position, kept until the log has been applied so far.
//
//   add(t, p) … ─▶ take_proven(applied): the latest t whose p is covered
//              └─▶ commit_times(id): between which of them a transaction was committed
//
// Where positions alone do not say how far a log is, a place in it belongs to each (MySQL).
//
// A log that is always late proves something all the same, however fast questions come: the oldest
// one is kept until it is proven, and others are kept so far apart that some kUnprovenMax of them
// are proven in the time by which the log is late. A reader who waits for one that was not kept is
// served by the one after it. Limits: kUnprovenMax; then every second one makes room.
//
// Threads: under its lock. Errors: add() is false if the server's position has gone back (RESET
// MASTER, or another server in its place): positions of before mean nothing any more.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <utility>
#include <variant>

#include "filter/absent_reads.h"
#include "source/source.h"

namespace cuckooguard::source {

template <class Position, class Place = std::monostate>
class PositionProofs {
 public:
  static constexpr std::size_t kUnprovenMax = 64;

  // Everything anew.
  void begin_at(Position position) {
    last_proven_at_ = TimePoint::min();
    last_proven_ = std::move(position);
    unproven_.clear();
  }
  // What was said may be of another server; what was proven counts.
  void forget_unproven() { unproven_.clear(); }
  // All that was committed before `at` is in the log up to `position`, and up to `place`, as was
  // said by `answered_at`.
  [[nodiscard]] bool add(TimePoint at,
                         TimePoint answered_at,
                         const Position& position,
                         const Place& place = {}) {
    const Position& before = unproven_.empty() ? last_proven_ : unproven_.back().position;
    if (!position.covers(before)) {
      unproven_.clear();
      return false;
    }
    if (is_newest_too_close(at)) {
      unproven_.pop_back();
    } else if (unproven_.size() == kUnprovenMax) {
      make_room();
    }
    unproven_.push_back(
        {.at = at, .answered_at = answered_at, .position = position, .place = place});
    return true;
  }
  // Nothing: nothing that was not proven before.
  std::optional<TimePoint> take_proven(const Position& applied, const Place& place = {}) {
    std::optional<TimePoint> proven;
    while (!unproven_.empty() && applied.covers(unproven_.front().position) &&
           place >= unproven_.front().place) {
      proven = unproven_.front().at;
      last_proven_ = std::move(unproven_.front().position);
      unproven_.pop_front();
    }
    last_proven_at_ = proven.value_or(last_proven_at_);
    return proven;
  }
  // The log has come to the place of an answer, and does not have all that the answer covers: it
  // never will.
  bool is_lacking(const Position& applied, const Place& place) const {
    return !unproven_.empty() && unproven_.front().place != Place() &&
           place >= unproven_.front().place && !applied.covers(unproven_.front().position);
  }
  // Of a transaction that is being applied.
  template <class Id>
  filter::CommitTimes commit_times(const Id& id) const {
    filter::CommitTimes times{.since = last_proven_at_};
    for (const Unproven& question : unproven_) {
      if (question.position.covers(id)) {
        times.by = question.answered_at;
        break;
      }
      times.since = question.at;
    }
    return times;
  }

 private:
  struct Unproven {
    TimePoint at;
    TimePoint answered_at;
    Position position;
    Place place;
  };

  bool is_newest_too_close(TimePoint at) const {
    const std::size_t size = unproven_.size();
    return size > 1 && unproven_[size - 1].at - unproven_[size - 2].at <
                           (at - unproven_.front().at) / static_cast<TimePoint::rep>(kUnprovenMax);
  }
  // The oldest one stays, the third …
  void make_room() {
    std::size_t place = 0;
    std::erase_if(unproven_, [&place](const Unproven&) { return place++ % 2 == 1; });
  }

  std::deque<Unproven> unproven_;  // oldest first
  Position last_proven_;
  TimePoint last_proven_at_ = TimePoint::min();
};

}  // namespace cuckooguard::source
