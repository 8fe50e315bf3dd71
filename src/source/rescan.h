// Follows an origin by reading all of it again whenever it has changed.
//
//            ┌─────────── look: same version ───────────┐  prove: fresh_until = t + max_lag
//            ▼                                          │
//   load ─▶ following ── look: another version ─▶ expire ─▶ changed ── quiet, and due ─▶ load
//              └── lost ─▶ expire ─▶ down ── backoff, look: there again ─▶ changed
//
// The proof. A snapshot has a version, taken inside its own transaction. A look at time >= t that
// gives the same version shows that nothing committed before t came after the snapshot (the
// Origin's promise). So all rows committed before t are in the published filter, and one committed
// at c > t can be answered absent only before t + max_lag < c + max_lag. t is read before the look;
// the filter is published before the first look. A look answers readers' questions
// (source/asking.h).
//
// When it loads. After a change everything passes until the next load is proven, so it loads soon:
// as soon as the origin has been quiet for a moment, waiting for that no longer than a load takes
// (one wasted load at most). But an origin that changes all the time must not be read all the time:
//   a snapshot that was in force is followed by the next one so that loads take a quarter of the
//   time at most; one that was outdated before its first proof doubles the pause: once, twice, four
//   times … the load's own time, up to kPauseMax or kPauseLoadsMax loads.
//
// Threads: the source's. Errors: none; what is wrong is reported by on_state, and passes. That goes
// for exceptions too (no memory): without a source the namespaces pass, without the process nobody
// has a Redis.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "source/asking.h"
#include "source/backoff.h"
#include "source/feeds.h"
#include "source/follow_status.h"
#include "source/follower.h"
#include "source/origin.h"
#include "source/source.h"

namespace cuckooguard::source {

struct RescanTiming {
  std::chrono::nanoseconds max_lag;
  std::chrono::nanoseconds poll_every;
};

class Rescan final : public Follower {
 public:
  using Duration = std::chrono::nanoseconds;

  static constexpr Duration kQuietMin = std::chrono::milliseconds(2);
  static constexpr Duration kQuietMax = std::chrono::milliseconds(50);
  static constexpr int kQuietShare = 8;     // of a load's time
  static constexpr int kPauseAfterUse = 3;  // loads' time: a quarter of the time is spent loading
  static constexpr Duration kPauseMax = std::chrono::seconds(30);
  static constexpr int kPauseLoadsMax = 10;
  static constexpr Duration kBackoffMin = std::chrono::milliseconds(50);
  static constexpr Duration kBackoffMax = std::chrono::seconds(5);

  // `serves_strict`: a look sees all that is committed, not what a file's stamp betrays.
  Rescan(std::unique_ptr<Origin> origin,
         Feeds feeds,
         Clock clock,
         RescanTiming timing,
         Asking asking = {},
         bool serves_strict = false);

  std::chrono::nanoseconds step(const std::stop_token& stop) override;
  std::optional<std::chrono::nanoseconds> question_pace() const override {
    return phase_ == Phase::following ? std::optional(asking_.pace()) : std::nullopt;
  }
  void finish() override;
  SourceStatus status() const override { return status_.read(); }

 private:
  enum class Phase : std::uint8_t { changed, following, down };

  Duration next(const std::stop_token& stop);
  Duration follow();
  bool is_rebuild_asked();
  Duration wait_or_load(const std::stop_token& stop);
  Duration load(const std::stop_token& stop);
  Duration look_for_lost();
  Duration lose(std::string_view why);
  void note_change(TimePoint now, Version version);
  void note_request(TimePoint now);
  Duration quiet_time() const;
  Duration pause_after_miss() const;

  std::unique_ptr<Origin> origin_;
  Feeds feeds_;
  Clock clock_;
  RescanTiming timing_;
  Asking asking_;
  bool serves_strict_;
  FollowStatus status_;

  Phase phase_ = Phase::changed;
  Version in_force_ = 0;  // of the last snapshot
  bool proven_ = false;   // it has been shown to be current at least once
  TimePoint proven_at_{};

  Version last_seen_ = 0;
  TimePoint quiet_since_{};
  TimePoint patient_until_{};  // then it loads even though the origin is not quiet
  TimePoint not_before_{};
  bool never_loaded_ = true;

  TimePoint loaded_at_{};
  Duration load_time_{0};
  int misses_ = 0;  // snapshots in a row that were outdated before they were in force
  Backoff backoff_{kBackoffMin, kBackoffMax};  // of attempts that find nothing to read
};

}  // namespace cuckooguard::source
