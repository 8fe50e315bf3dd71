#include "source/source_kind.h"

#include <utility>

#include "text/try.h"

namespace cuckooguard::source {

SourceThread::SourceThread(std::unique_ptr<Follower> follower,
                           std::unique_ptr<RowLookup> rows,
                           filter::Questions* questions)
    : follower_(std::move(follower)), rows_(std::move(rows)), questions_(questions) {}

SourceThread::~SourceThread() {
  stop();
}

void SourceThread::start() {
  if (!thread_.joinable()) {
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }
}

void SourceThread::stop() {
  if (thread_.joinable()) {
    thread_.request_stop();
    thread_.join();
  }
}

void SourceThread::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    pause(follower_->step(stop), stop);
  }
  follower_->finish();
}

void SourceThread::pause(std::chrono::nanoseconds most, const std::stop_token& stop) {
  const auto pace = follower_->question_pace();
  if (questions_ != nullptr && pace) {
    questions_->wait(most, *pace, stop);
    return;
  }
  std::unique_lock lock(mutex_);
  // The predicate is never true: the pause ends by its time or by the stop.
  woken_.wait_for(lock, stop, most, [] { return false; });
}

using filter::State;

Rescan::Rescan(std::unique_ptr<Origin> origin,
               Feeds feeds,
               Clock clock,
               RescanTiming timing,
               Asking asking,
               bool serves_strict)
    : LookingFollower(
          std::move(feeds), std::move(clock), asking, Backoff(kBackoffMin, kBackoffMax)),
      origin_(std::move(origin)),
      timing_(timing),
      serves_strict_(serves_strict) {}

Rescan::Duration Rescan::next(const std::stop_token& stop) {
  switch (phase_) {
    case Phase::following:
      return follow();
    case Phase::down:
      return look_for_lost();
    case Phase::changed:
      break;
  }
  return wait_or_load(stop);
}

Rescan::Duration Rescan::follow() {
  const bool is_wanted = asking_.begin();  // before t: later readers want another one
  const TimePoint before = clock_();       // the t of the proof
  const Sighting sighting = origin_->look();
  switch (sighting.kind) {
    case Sighting::Kind::lost:
      return lose(sighting.why);
    case Sighting::Kind::unclear:
      if (before - proven_at_ >= timing_.max_lag) {
        feeds_.each(&Feed::report_unless_refused, State::lagging, sighting.why);
      }
      if (is_wanted) {
        asking_.want();
      }
      return timing_.poll_every;
    case Sighting::Kind::seen:
      break;
  }
  if (sighting.version != in_force_) {
    feeds_.each(&Feed::expire);  // before anything else
    note_change(before, sighting.version);
    return Duration::zero();
  }
  asking_.serves_strict(serves_strict_);
  feeds_.each(&Feed::prove, before);
  asking_.proven();
  status_.proven(before);
  proven_ = true;
  proven_at_ = before;
  misses_ = 0;
  if (is_rebuild_asked()) {
    note_request(before);
  }
  return timing_.poll_every;
}

// The filters in force stay so until their proof is too old: nothing is proven while rows are read.
void Rescan::note_request(TimePoint now) {
  phase_ = Phase::changed;
  quiet_since_ = patient_until_ = not_before_ = now;
}

void Rescan::note_change(TimePoint now, Version version) {
  phase_ = Phase::changed;
  status_.loading("rows have changed");
  last_seen_ = version;
  quiet_since_ = now;
  misses_ += proven_ ? 0 : 1;
  not_before_ = loaded_at_ + (proven_ ? kPauseAfterUse * load_time_ : pause_after_miss());
  patient_until_ = std::max(now, not_before_) + load_time_;
  feeds_.each(&Feed::report,
              proven_ ? State::loading : State::lagging,
              proven_
                  ? "rows have changed: reading them again"
                  : "rows changed while they were being read: reading them again after a pause");
}

Rescan::Duration Rescan::pause_after_miss() const {
  const int doublings = std::min(misses_ - 1, 20);
  return std::min(load_time_ * (1 << doublings), std::max(kPauseMax, kPauseLoadsMax * load_time_));
}

Rescan::Duration Rescan::quiet_time() const {
  return std::clamp(load_time_ / kQuietShare, kQuietMin, kQuietMax);
}

Rescan::Duration Rescan::wait_or_load(const std::stop_token& stop) {
  if (never_loaded_) {
    return load(stop);
  }
  const TimePoint now = clock_();
  if (now < not_before_) {
    return not_before_ - now;
  }
  const Sighting sighting = origin_->look();
  if (sighting.kind == Sighting::Kind::lost) {
    return lose(sighting.why);
  }
  if (sighting.kind == Sighting::Kind::unclear || sighting.version != last_seen_) {
    last_seen_ = sighting.version;
    quiet_since_ = now;
  }
  if (now - quiet_since_ < quiet_time() && now < patient_until_) {
    return std::min(quiet_time(), patient_until_ - now);
  }
  return load(stop);
}

Rescan::Duration Rescan::load(const std::stop_token& stop) {
  const TimePoint begun = clock_();
  feeds_.snapshot_begins(begun);
  const Snapshot snapshot = origin_->take(feeds_, stop);
  switch (snapshot.kind) {
    case Snapshot::Kind::stopped:
      return Duration::zero();
    case Snapshot::Kind::lost:
      return lose(snapshot.why);
    case Snapshot::Kind::unclear:
      feeds_.each(&Feed::report, State::loading, snapshot.why);
      status_.loading(snapshot.why);
      return timing_.poll_every;
    case Snapshot::Kind::taken:
      break;
  }
  never_loaded_ = false;
  phase_ = Phase::following;
  status_.following();
  in_force_ = snapshot.version;
  proven_ = false;
  backoff_.succeeded();
  loaded_at_ = clock_();
  load_time_ = loaded_at_ - begun;
  return Duration::zero();
}

Rescan::Duration Rescan::lose(std::string_view why) {
  feeds_.each(&Feed::expire);
  feeds_.each(&Feed::report, State::down, why);
  phase_ = Phase::down;
  status_.lost(why);
  return backoff_.next();
}

Rescan::Duration Rescan::look_for_lost() {
  const Sighting sighting = origin_->look();
  if (sighting.kind == Sighting::Kind::lost) {
    return lose(sighting.why);
  }
  feeds_.each(&Feed::report, State::loading, "the source is readable again");
  status_.loading("the source is readable again");
  phase_ = Phase::changed;
  never_loaded_ = true;
  return Duration::zero();
}

std::expected<std::unique_ptr<Source>, std::vector<Refusal>> make_source(
    const SourceKind& kind, const SourceSettings& settings) {
  auto parts = TRY(kind.make(settings));
  return std::make_unique<SourceThread>(
      std::move(parts.follower), std::move(parts.rows), settings.questions);
}

std::unique_ptr<Follower> make_rescan(std::unique_ptr<Origin> origin,
                                      std::chrono::nanoseconds poll_every,
                                      bool serves_strict,
                                      const SourceSettings& settings) {
  return std::make_unique<Rescan>(
      std::move(origin),
      settings.feeds(),
      settings.clock,
      RescanTiming{.max_lag = settings.settings.max_lag, .poll_every = poll_every},
      settings.asking(kLookPace),
      serves_strict);
}

}  // namespace cuckooguard::source
