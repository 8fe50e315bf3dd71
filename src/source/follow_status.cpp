#include "source/follow_status.h"

namespace cuckooguard::source {

void FollowStatus::moved_to(const LogPosition& position) {
  const std::scoped_lock lock(mutex_);
  position_ = position;
  is_mariadb_ = position.is_mariadb();
}

void FollowStatus::has_no_position() {
  const std::scoped_lock lock(mutex_);
  position_.reset();
}

void FollowStatus::proven(TimePoint at) {
  const std::scoped_lock lock(mutex_);
  proven_at_ = at;
}

void FollowStatus::following() {
  set_state(SourceState::following, "");
}

void FollowStatus::loading(std::string_view why) {
  set_state(SourceState::loading, why);
}

void FollowStatus::lost(std::string_view why) {
  set_state(SourceState::down, why);
}

void FollowStatus::set_state(SourceState state, std::string_view why) {
  const std::scoped_lock lock(mutex_);
  if (state == SourceState::down && state_ != SourceState::down) {
    ++losses_;
  }
  state_ = state;
  why_ = why;
}

SourceStatus FollowStatus::read() const {
  const std::scoped_lock lock(mutex_);
  return {.state = state_,
          .why = why_,
          .position = position_ ? position_->text() : "",
          .proven_at = proven_at_,
          .losses = losses_};
}

// Before a server has been seen nobody knows whose positions it has: any that is one of either may come.
Reached FollowStatus::reached(std::string_view position) const {
  std::optional<bool> is_mariadb;
  {
    const std::scoped_lock lock(mutex_);
    is_mariadb = is_mariadb_;
  }
  auto wanted = LogPosition::parse(position, is_mariadb.value_or(true));
  if (!wanted && !is_mariadb) {
    wanted = LogPosition::parse(position, false);
  }
  if (!wanted) {
    return Reached::not_a_position;
  }
  const std::scoped_lock lock(mutex_);
  return position_ && position_->covers(*wanted) ? Reached::yes : Reached::not_yet;
}

}  // namespace cuckooguard::source
