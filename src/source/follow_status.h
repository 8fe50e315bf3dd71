// How far a source is, as other threads may ask: its last proof, state and why; and of one that
// follows a log, the position (LogStatus).
//
//   source's thread, probe ── moved_to, proven, … ─▶ mutex ◀── read(), reached() ── any thread
//
// Must: reached(p) is yes only after every filter of the source has been given all that p covers,
// or its namespace passes (it is being read again). moved_to() is called after the filters have
// been changed, and the mutex hands that on: whoever has heard yes sees those changes, and so does
// every other thread that looks later, for the filters' words are atomic and memory is coherent.
// (tests/source/follow_status_test.cpp)
//
// Not after a server's log has begun anew (RESET MASTER, a server that was set back): then old
// numbers count until that is noticed, max_lag / 4.
//
// Threads: any; nobody holds the mutex for longer than a position is copied or compared. Limits:
// moved_to() copies into the room that the last position had, 0.1 us per transaction; a MySQL set
// of many intervals costs as much as it is long.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>

#include "source/source.h"

namespace cuckooguard::source {

// How often something happened in the last hour, to a minute.
//
// Threads: one at a time. Limits: constant size; it moves on only as it is told the time.
class HourlyCount {
 public:
  // `at` never goes back.
  void add(std::uint64_t count, std::chrono::steady_clock::time_point at) {
    const auto minute =
        std::chrono::duration_cast<std::chrono::minutes>(at.time_since_epoch()).count();
    if (minute - minute_ >= kMinutes) {
      counts_.fill(0);
      minute_ = minute;
    }
    while (minute_ < minute) {
      counts_[static_cast<std::size_t>(++minute_ % kMinutes)] = 0;
    }
    counts_[static_cast<std::size_t>(minute_ % kMinutes)] += count;
  }
  std::uint64_t total() const {
    return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
  }

 private:
  static constexpr std::int64_t kMinutes = 60;

  std::array<std::uint64_t, kMinutes> counts_{};  // by minute
  std::int64_t minute_ = 0;                       // the last one
};

class FollowStatus {
 public:
  // --- the follower ---
  void proven(TimePoint at);
  void following() { set_state(filter::SourceState::following, ""); }
  // While it follows: what is not as it should be all the same; empty: nothing.
  void remark(std::string_view what);
  void loading(std::string_view why) { set_state(filter::SourceState::loading, why); }
  void lost(std::string_view why) { set_state(filter::SourceState::down, why); }
  void refused(std::string_view why) { set_state(filter::SourceState::refused, why); }
  // The server keeps so much of its log for us.
  void retains(std::uint64_t bytes);
  // It has had the server number so many transactions since it was said last.
  void took_transactions(std::uint64_t count, TimePoint at);

  // --- any thread ---
  SourceStatus read() const {
    const std::scoped_lock lock(mutex_);
    return status_;
  }

 protected:
  mutable std::mutex mutex_;
  SourceStatus status_;

 private:
  void set_state(filter::SourceState state, std::string_view why);

  HourlyCount transactions_per_hour_;
};

// Of a source that follows a log. A Position has text(), covers(Position), its flavor(), and
// parse(text, flavor), which gives nothing if the text is not a position of that flavor of log; of
// any, if none is known yet.
template <typename Position>
class LogStatus : public FollowStatus {
 public:
  // --- the follower ---
  void moved_to(const Position& position) {
    const std::scoped_lock lock(mutex_);
    position_ = position;
    flavor_ = position.flavor();
  }
  void has_no_position() {  // all is read anew
    const std::scoped_lock lock(mutex_);
    position_.reset();
  }

  // --- any thread ---
  SourceStatus read() const {
    const std::scoped_lock lock(mutex_);
    SourceStatus status = status_;
    status.position = position_ ? position_->text() : "";
    return status;
  }
  Reached reached(std::string_view text) const {
    const std::optional<Position> wanted = Position::parse(text, flavor());
    if (!wanted) {
      return Reached::not_a_position;
    }
    const std::scoped_lock lock(mutex_);
    return position_ && position_->covers(*wanted) ? Reached::yes : Reached::not_yet;
  }

 private:
  std::optional<typename Position::Flavor> flavor() const {
    const std::scoped_lock lock(mutex_);
    return flavor_;
  }

  std::optional<Position> position_;
  std::optional<typename Position::Flavor> flavor_;  // once it is known
};

}  // namespace cuckooguard::source
