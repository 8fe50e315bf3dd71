#include "bloom/follower.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace cuckooguard::source {
namespace {

using filter::State;

double set_bits(const foreign::Filter& filter) {
  const foreign::Facts facts = filter.facts();
  return std::round(facts.fill * static_cast<double>(facts.bits_or_slots));
}

std::string seconds_text(std::chrono::nanoseconds time) {
  return fmt::format("{:.1f} s", std::chrono::duration<double>(time).count());
}

}  // namespace

BloomFollower::BloomFollower(std::unique_ptr<BloomOrigin> origin,
                             Feeds feeds,
                             Clock clock,
                             BloomTiming timing,
                             Asking asking)
    : LookingFollower(
          std::move(feeds), std::move(clock), asking, Backoff(kBackoffMin, kBackoffMax)),
      origin_(std::move(origin)),
      timing_(timing) {}

BloomFollower::Duration BloomFollower::next(const std::stop_token& stop) {
  asking_.begin();                // before t: later readers want another one
  const TimePoint at = clock_();  // the t of the proof
  if (!is_read_) {
    return read(at, stop);
  }
  const bool is_asked = is_rebuild_asked();
  if (is_asked) {
    most_set_ = 0;  // whatever it is, it counts
    was_missing_ = false;
  }
  const BloomLook look = origin_->look();
  if (look.kind == BloomLook::Kind::lost) {
    return lose(look.why);
  }
  if (look.kind == BloomLook::Kind::refused) {
    return refuse(look.why, false);
  }
  if (look.kind == BloomLook::Kind::unchanged && !is_asked) {
    if (candidate_) {
      take(at, candidate_);
    } else {
      prove(at);
    }
    return timing_.reload;
  }
  if (at < not_before_ && !is_asked) {
    report_if_stale(at);
    return std::min(not_before_ - at, timing_.reload);
  }
  return read(at, stop);
}

BloomFollower::Duration BloomFollower::read(TimePoint at, const std::stop_token& stop) {
  BloomReading reading = origin_->read(stop);
  const TimePoint now = clock_();
  const Duration pause = kPauseAfterRead * (now - at);
  switch (reading.kind) {
    case BloomReading::Kind::stopped:
      return Duration::zero();
    case BloomReading::Kind::lost:
      return lose(reading.why);
    case BloomReading::Kind::refused:
      return std::max(refuse(reading.why, reading.is_missing), pause);
    case BloomReading::Kind::unclear:
      return std::max(wait_for(reading.why), pause);
    case BloomReading::Kind::taken:
      break;
  }
  backoff_.succeeded();
  is_read_ = true;
  read_time_ = now - at;
  not_before_ = now + pause;
  take(at, std::move(reading.filter));
  return timing_.reload;
}

void BloomFollower::take(TimePoint at, FilterPointer filter) {
  const double set = set_bits(*filter);
  const bool is_whole = set >= most_set_ && (most_set_ > 0 || !was_missing_);
  if (is_whole || !origin_->only_gains_bits()) {
    put_in_force(at, std::move(filter));
    return;
  }
  if (!candidate_ || set_bits(*candidate_) != set) {
    still_since_ = at;
  }
  if (candidate_ && at - still_since_ >= kStandsStill) {
    put_in_force(at, std::move(filter));
    return;
  }
  candidate_ = std::move(filter);
  is_in_force_ = false;
  const std::string why = why_not_yet(set);
  feeds_.each(&Feed::expire);
  feeds_.each(&Feed::report, State::loading, why);
  status_.loading(why);
}

std::string BloomFollower::why_not_yet(double set) const {
  if (most_set_ == 0) {
    return "the filter has just appeared and may still be filling: the guard uses it when it has "
           "not changed for 10 s, or after GUARD.REBUILD";
  }
  return fmt::format(
      "the filter was recreated and has {:.0f} bits set, previously {:.0f}: the guard uses it when "
      "it has as many again, has not changed for 10 s, or after GUARD.REBUILD",
      set,
      most_set_);
}

void BloomFollower::put_in_force(TimePoint at, FilterPointer filter) {
  candidate_.reset();
  was_missing_ = false;
  most_set_ = set_bits(*filter);
  for (Feed& feed : feeds_) {
    feed.publish(filter);
  }
  is_in_force_ = true;
  prove(at);
}

void BloomFollower::prove(TimePoint at) {
  proven_at_ = at;
  status_.proven(at);
  status_.following();
  const bool is_too_late = is_stale(clock_());
  for (Feed& feed : feeds_) {
    if (is_too_late) {
      feed.live().reclaim();
      feed.report(State::lagging, why_too_slow());
    } else {
      feed.prove(at);
    }
  }
  asking_.proven();
}

bool BloomFollower::is_stale(TimePoint now) const {
  return !is_in_force_ || now - proven_at_ >= timing_.max_lag;
}

void BloomFollower::report_if_stale(TimePoint now) {
  if (is_in_force_ && is_stale(now)) {
    feeds_.each(&Feed::report_unless_refused, State::lagging, why_too_slow());
  }
}

std::string BloomFollower::why_too_slow() const {
  return fmt::format(
      "the filter changes all the time and takes {} to read, for which the guard spends at most a "
      "quarter of the time: increase max_lag to {}",
      seconds_text(read_time_),
      seconds_text((kPauseAfterRead + 2) * read_time_ + timing_.reload + std::chrono::seconds(1)));
}

// The filter in force stays so until its proof is too old: it had all that there was.
BloomFollower::Duration BloomFollower::lose(std::string_view why) {
  is_read_ = false;
  status_.lost(why);
  if (is_stale(clock_())) {
    feeds_.each(&Feed::expire);
    feeds_.each(&Feed::report, State::down, why);
  }
  return is_stale(clock_()) ? backoff_.next() : std::min(backoff_.next(), timing_.reload);
}

BloomFollower::Duration BloomFollower::refuse(std::string_view why, bool is_missing) {
  was_missing_ = was_missing_ || is_missing;
  is_read_ = false;
  is_in_force_ = false;
  candidate_.reset();
  feeds_.each(&Feed::expire);
  feeds_.each(&Feed::refuse, State::refused, why);
  status_.refused(why);
  return backoff_.next();
}

BloomFollower::Duration BloomFollower::wait_for(std::string_view why) {
  is_read_ = false;
  if (is_stale(clock_())) {
    feeds_.each(&Feed::report, is_in_force_ ? State::lagging : State::loading, why);
    status_.loading(why);
  }
  return std::min(kUnclearPause, timing_.reload);
}

}  // namespace cuckooguard::source
