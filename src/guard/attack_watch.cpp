#include "guard/counters.h"

namespace cuckooguard::guard {

std::optional<AttackWatch::Change> AttackWatch::look(TimePoint now,
                                                     std::uint64_t reads,
                                                     double tolerate) {
  if (!samples_.empty() && now < samples_.back().at + kLookEvery) {
    return std::nullopt;
  }
  samples_.push_back({now, reads});
  while (samples_.size() > 2 && samples_[1].at <= now - kWindow) {
    samples_.pop_front();
  }
  const Sample first = samples_.front();
  // A watch that has just begun knows less than a window, in which a few reads are no rate yet.
  const std::chrono::duration<double> span = std::max<TimePoint::duration>(now - first.at, kWindow);
  const double rate = static_cast<double>(reads - first.reads) / span.count();
  rate_ = rate;
  if (!is_on()) {
    if (rate <= limit_of(tolerate)) {
      return std::nullopt;
    }
    reads_before_ = first.reads;
    quiet_since_.reset();
    reads_ = reads - first.reads;
    peak_ = rate;
    began_at_ = first.at;
    is_on_ = true;
    return Change{
        .has_begun = true, .rate = rate, .peak = rate, .lasted = now - first.at, .reads = reads_};
  }
  peak_ = std::max(peak(), rate);
  reads_ = reads - reads_before_;
  if (rate >= limit_of(tolerate) / 2) {
    quiet_since_.reset();
    return std::nullopt;
  }
  if (!quiet_since_) {
    quiet_since_ = samples_.back();
  }
  if (now < quiet_since_->at + kQuietFor) {
    return std::nullopt;
  }
  is_on_ = false;
  reads_ = quiet_since_->reads - reads_before_;
  return Change{.has_begun = false,
                .rate = rate,
                .peak = peak(),
                .lasted = quiet_since_->at - began_at(),
                .reads = reads_};
}

}  // namespace cuckooguard::guard
