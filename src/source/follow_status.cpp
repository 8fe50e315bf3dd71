#include "source/follow_status.h"

namespace cuckooguard::source {

void FollowStatus::proven(TimePoint at) {
  const std::scoped_lock lock(mutex_);
  proven_at_ = at;
}

void FollowStatus::retains(std::uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  log_retained_ = bytes;
}

void FollowStatus::took_transactions(std::uint64_t count, TimePoint at) {
  const std::scoped_lock lock(mutex_);
  transactions_ = transactions_.value_or(0) + count;
  transactions_per_hour_.add(count, at);
}

void FollowStatus::remark(std::string_view what) {
  const std::scoped_lock lock(mutex_);
  if (state_ == filter::SourceState::following) {
    why_ = what;
  }
}

void FollowStatus::set_state(filter::SourceState state, std::string_view why) {
  const std::scoped_lock lock(mutex_);
  const auto is_lost = [](filter::SourceState one) {
    return one == filter::SourceState::down || one == filter::SourceState::refused;
  };
  if (is_lost(state) && !is_lost(state_)) {
    ++losses_;
  }
  state_ = state;
  why_ = why;
}

SourceStatus FollowStatus::read_locked() const {
  return {.state = state_,
          .why = why_,
          .proven_at = proven_at_,
          .losses = losses_,
          .log_retained = log_retained_,
          .flush_transactions = transactions_,
          .flush_transactions_per_hour = transactions_per_hour_.total()};
}

}  // namespace cuckooguard::source
