// Follows a filter of another library: reads it as a whole, and again when it has changed.
//
//   read ─▶ publish, prove: fresh_until = t + max_lag, with t before the reading began
//     ▲        └─ look, every `reload`: unchanged ─▶ prove, with t before the look
//     └────────── changed, and due ─┘
//
// The proof. What was in the filter before a reading began is in what was read (bloom/origin.h). So
// an item that was added at c > t can be found absent only before t + max_lag < c + max_lag. A
// filter that changes all the time needs no quiet moment: it is proven by each reading of its own,
// and the one in force stays so until its proof is too old: there is no gap between two of them.
// Reading takes a quarter of the time at most; if that is not often enough for max_lag, everything
// passes in between, and the state says which max_lag would do.
//
// One that is being filled. Applications delete their filter and fill it again, and in between
// their rows are not in it. A Bloom filter of Redis's that has fewer bits set than the one before
// it, or that has come where there was none, counts once it has as many as the one before, or has
// stood still for kStandsStill, or an operator says so (GUARD.REBUILD); until then everything
// passes. Of one that is there when the guard starts that cannot be known.
//
// Threads: the source's. Errors: none; what is wrong is reported, and passes. That goes for
// exceptions, too. Limits: in memory are the filter in force, the next one while it is read, and
// one replaced until each worker's batch has ended.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "bloom/origin.h"
#include "source/follower.h"

namespace cuckooguard::source {

struct BloomTiming {
  std::chrono::nanoseconds max_lag;
  std::chrono::nanoseconds reload;
};

class BloomFollower final : public LookingFollower {
 public:
  static constexpr int kPauseAfterRead = 3;  // readings' time: a quarter of the time is one
  static constexpr Duration kStandsStill = std::chrono::seconds(10);
  static constexpr Duration kUnclearPause = std::chrono::milliseconds(20);
  static constexpr Duration kBackoffMin = std::chrono::milliseconds(50);
  static constexpr Duration kBackoffMax = std::chrono::seconds(2);

  BloomFollower(std::unique_ptr<BloomOrigin> origin,
                Feeds feeds,
                Clock clock,
                BloomTiming timing,
                Asking asking = {});

  std::optional<std::chrono::nanoseconds> question_pace() const override {
    return is_read_ ? std::optional(asking_.pace()) : std::nullopt;
  }

 private:
  using FilterPointer = std::shared_ptr<const foreign::Filter>;

  Duration next(const std::stop_token& stop) override;
  Duration lose(std::string_view why) override;
  Duration read(TimePoint at, const std::stop_token& stop);
  void take(TimePoint at, FilterPointer filter);
  void put_in_force(TimePoint at, FilterPointer filter);
  void prove(TimePoint at);
  bool is_stale(TimePoint now) const;
  void report_if_stale(TimePoint now);
  std::string why_too_slow() const;
  std::string why_not_yet(double set) const;
  Duration refuse(std::string_view why, bool is_missing);
  Duration wait_for(std::string_view why);

  std::unique_ptr<BloomOrigin> origin_;
  BloomTiming timing_;

  bool is_read_ = false;      // the origin can say whether it has changed since
  bool is_in_force_ = false;  // a filter is
  TimePoint proven_at_{};
  Duration read_time_{0};
  TimePoint not_before_{};  // the next reading
  double most_set_ = 0;     // bits of the filter in force, or of the last that was
  bool was_missing_ = false;
  FilterPointer candidate_;  // that is perhaps being filled
  TimePoint still_since_{};
};

}  // namespace cuckooguard::source
