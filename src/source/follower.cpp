#include "source/follower.h"

#include <utility>

namespace cuckooguard::source {

void FollowStatus::proven(TimePoint at) {
  const std::scoped_lock lock(mutex_);
  status_.proven_at = at;
}

void FollowStatus::at(std::string place) {
  const std::scoped_lock lock(mutex_);
  status_.position = std::move(place);
}

void FollowStatus::retains(std::uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  status_.log_retained = bytes;
}

void FollowStatus::took_transactions(std::uint64_t count, TimePoint at) {
  const std::scoped_lock lock(mutex_);
  status_.flush_transactions = status_.flush_transactions.value_or(0) + count;
  transactions_per_hour_.add(count, at);
  status_.flush_transactions_per_hour = transactions_per_hour_.total();
}

void FollowStatus::remark(std::string_view what) {
  const std::scoped_lock lock(mutex_);
  if (status_.state == filter::SourceState::following) {
    status_.why = what;
  }
}

void FollowStatus::set_state(filter::SourceState state, std::string_view why) {
  const std::scoped_lock lock(mutex_);
  const auto is_lost = [](filter::SourceState one) {
    return one == filter::SourceState::down || one == filter::SourceState::refused;
  };
  if (is_lost(state) && !is_lost(status_.state)) {
    ++status_.losses;
  }
  status_.state = state;
  status_.why = why;
}

}  // namespace cuckooguard::source
