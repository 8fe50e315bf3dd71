#include "redis/facts.h"

#include <algorithm>
#include <array>
#include <ranges>
#include <utility>

namespace cuckooguard::redis {
namespace {

// Of those that Redis gives where it does not serve reads.
constexpr std::array<std::string_view, 3> kNotServed{"-LOADING ", "-MASTERDOWN ", "-BUSY "};

}  // namespace

std::optional<std::string_view> role_name(const Snapshot& redis) {
  return redis.is_master.transform(
      [](bool is_master) { return std::string_view(is_master ? "master" : "replica"); });
}

Facts::Facts() {
  replace({.commands = std::make_shared<Commands>(), .users = std::make_shared<Users>()});
}

void Facts::replace(Snapshot next) {
  // In this order and under the lock: whoever has read this version and then asks for the snapshot
  // gets this one, or a later one.
  next.version = version_.load(std::memory_order_relaxed) + 1;
  snapshot_ = std::make_shared<const Snapshot>(std::move(next));
  version_.store(snapshot_->version, std::memory_order_release);
}

std::uint64_t Facts::doubt(Urgency urgency) {
  std::uint64_t next = 0;
  {
    const std::scoped_lock lock(mutex_);
    next = epoch_ + 1;
    if (doubted_ >= urgency) {
      return next;
    }
    doubted_ = urgency;
  }
  if (on_doubt_) {
    on_doubt_(urgency);
  }
  return next;
}

std::uint64_t Facts::epoch() {
  const std::scoped_lock lock(mutex_);
  doubted_ = Urgency::none;
  ++epoch_;
  asked_for_ = 0;
  for (User& user : users_ | std::views::values) {
    const std::uint64_t most = user.clients > 0 || were_listed_ ? kIdleAskings : 1;
    user.is_asked_for = epoch_ - user.epoch <= most;
    asked_for_ += user.is_asked_for ? 1 : 0;
  }
  std::erase_if(users_, [](const auto& each) {
    return each.second.clients == 0 && !each.second.is_asked_for;
  });
  return epoch_;
}

bool Facts::publish(std::uint64_t epoch, Reading reading) {
  auto users = std::make_shared<const Users>(std::move(reading.users));
  const std::scoped_lock lock(mutex_);
  if (epoch < valid_from_) {
    return false;
  }
  if (std::exchange(needed_no_password_, users->default_needs_no_password) &&
      !users->default_needs_no_password) {
    withdrawals_.fetch_add(1, std::memory_order_release);
  }
  were_listed_ = users->are_listed;
  replace({.epoch = epoch,
           .good_until = reading.good_until,
           .commands = reading.commands ? reading.commands : snapshot_->commands,
           .users = std::move(users),
           .availability = reading.availability,
           .is_master = reading.is_master,
           .slots = std::move(reading.slots),
           .is_whole_cluster = reading.is_whole_cluster,
           .takes_writes = reading.takes_writes,
           .idle_timeout = reading.idle_timeout,
           .round_trip = reading.round_trip,
           .control = snapshot_->control});
  return true;
}

void Facts::withdraw_users() {
  {
    const std::scoped_lock lock(mutex_);
    valid_from_ = epoch_ + 1;
    withdrawals_.fetch_add(1, std::memory_order_release);
    Snapshot next = *snapshot_;
    if (!next.withdrawn) {
      next.withdrawn = next.users;
    }
    next.users = std::make_shared<Users>();
    replace(std::move(next));
  }
  doubt(Urgency::at_once);
}

std::uint32_t Facts::yes_may_pass_until() const {
  const std::scoped_lock lock(mutex_);
  return std::max(static_cast<std::uint32_t>(epoch_ + kUnseenAskings), 1U);
}

void Facts::may_have_changed_all(std::uint32_t until) {
  const auto is_over = [this, until] {
    const std::scoped_lock lock(mutex_);
    return static_cast<std::int32_t>(until - static_cast<std::uint32_t>(epoch_)) <= 0;
  };
  if (until != 0 && !is_over()) {
    withdraw_users();
  } else {
    withdrawals_.fetch_add(1, std::memory_order_release);
  }
}

// Nobody changes a Redis that is down, and what it comes back as is asked before it is answered
// for.
void Facts::lost(Loss loss) {
  const std::scoped_lock lock(mutex_);
  valid_from_ = epoch_ + 1;
  Snapshot next = *snapshot_;
  next.is_lost = true;
  next.why_lost = std::move(loss.why);
  next.good_until = loss.is_up ? TimePoint::min() : TimePoint::max();
  replace(std::move(next));
}

void Facts::report(ControlReport control) {
  const std::scoped_lock lock(mutex_);
  Snapshot next = *snapshot_;
  next.control = std::move(control);
  replace(std::move(next));
}

std::vector<std::string> Facts::users_to_ask() const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> users{"default"};
  for (const auto& [name, user] : users_) {
    if (user.is_asked_for) {
      users.push_back(name);
    }
  }
  return users;
}

std::shared_ptr<const Snapshot> Facts::snapshot() const {
  const std::scoped_lock lock(mutex_);
  return snapshot_;
}

bool Facts::ask_for(const std::string& name, bool is_counted) {
  {
    const std::scoped_lock lock(mutex_);
    const auto found = users_.find(name);
    const bool is_new = found == users_.end() || !found->second.is_asked_for;
    if (name == "default" || (is_new && asked_for_ == kUsersToAskMax)) {
      return is_counted;
    }
    User& user = users_[name];
    user.clients += is_counted ? 0 : 1;
    user.epoch = epoch_;
    if (std::exchange(user.is_asked_for, true)) {
      return true;
    }
    ++asked_for_;
  }
  doubt();
  return true;
}

void Facts::leave(const std::string& name) {
  const std::scoped_lock lock(mutex_);
  --users_.at(name).clients;
}

bool Facts::asks_for(std::string_view name) const {
  const std::scoped_lock lock(mutex_);
  const auto found = users_.find(name);
  return name == "default" || (found != users_.end() && found->second.is_asked_for);
}

std::uint64_t Facts::note_error(std::string_view first_bytes) {
  if (first_bytes.starts_with("-READONLY ")) {  // it serves reads; but it may be no master any more
    doubt();
    return 0;
  }
  return std::ranges::any_of(kNotServed, [&](auto error) { return first_bytes.starts_with(error); })
             ? doubt()
             : 0;
}

}  // namespace cuckooguard::redis
