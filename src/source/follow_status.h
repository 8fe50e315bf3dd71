// How far a source is, as other threads may ask: position, last proof, state and why.
//
//   source's thread, probe ── moved_to, proven, … ─▶ mutex ◀── read(), reached() ── any thread
//
// Must: reached(p) is yes only after every filter of the source has been given all that p covers, or its
// namespace passes (it is being read again). moved_to() is called after the filters have been changed, and
// the mutex hands that on: whoever has heard yes sees those changes, and so does every other thread that
// looks later, for the filters' words are atomic and memory is coherent. (tests/source/follow_status_test.cpp)
//
// Not after a server's log has begun anew (RESET MASTER): then old numbers count until that is noticed, max_lag / 4.
//
// Called by: a Follower (all but the readers), SourceThread (read, reached). Threads: any; nobody holds the
// mutex for longer than a position is copied or compared. Errors: none. Limits: moved_to() copies into the
// room that the last position had, 0.1 us per transaction; a MySQL set of many intervals costs as much as it is long.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "source/log_position.h"
#include "source/source.h"

namespace cuckooguard::source {

class FollowStatus {
 public:
  // --- the follower ---
  void moved_to(const LogPosition& position);
  void has_no_position();  // all is read anew
  void proven(TimePoint at);
  void following();
  void loading(std::string_view why);
  void lost(std::string_view why);

  // --- any thread ---
  SourceStatus read() const;
  Reached reached(std::string_view position) const;

 private:
  void set_state(SourceState state, std::string_view why);

  mutable std::mutex mutex_;
  SourceState state_ = SourceState::loading;
  std::string why_;
  std::optional<LogPosition> position_;
  std::optional<bool> is_mariadb_;  // once it is known
  std::optional<TimePoint> proven_at_;
  std::uint64_t losses_ = 0;
};

}  // namespace cuckooguard::source
