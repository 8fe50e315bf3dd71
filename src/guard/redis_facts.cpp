#include "guard/redis_facts.h"

#include <algorithm>
#include <array>
#include <utility>

namespace cuckooguard::guard {
namespace {

const UserAccess kUnrestricted{.is_unrestricted = true};

struct KnownError {
  std::string_view begins;
  Availability means;
};
constexpr std::array<KnownError, 3> kErrors{{{"-LOADING ", Availability::loading},
                                             {"-MASTERDOWN ", Availability::master_link_down},
                                             {"-BUSY ", Availability::busy}}};

}  // namespace

bool UserAccess::may(std::size_t command, std::uint32_t ns) const noexcept {
  if (is_unrestricted) {
    return true;
  }
  const KeyAccess access = ns < namespaces.size() ? namespaces[ns] : KeyAccess::none;
  switch (access) {
    case KeyAccess::none:
      return false;
    case KeyAccess::read:
      return on_readable[command];
    case KeyAccess::read_write:
      return on_writable[command];
  }
  return false;
}

const Command* Commands::find_learned(std::string_view name) const {
  if (learned.empty()) {
    return nullptr;
  }
  std::string lower(name.substr(0, kLearnedNameBytesMax + 1));
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  const auto found = learned.find(lower);
  return found == learned.end() ? nullptr : &found->second;
}

const UserAccess* Users::find(std::string_view name) const {
  if (trusts_everyone || unrestricted.contains(name)) {
    return &kUnrestricted;
  }
  const auto found = restricted.find(name);
  return found == restricted.end() ? nullptr : &found->second;
}

RedisFacts::RedisFacts() {
  replace({.commands = std::make_shared<Commands>(), .users = std::make_shared<Users>()});
}

void RedisFacts::replace(Snapshot next) {
  // In this order and under the lock: whoever has read this version and then asks for the snapshot
  // gets this one, or a later one.
  next.version = version_.load(std::memory_order_relaxed) + 1;
  snapshot_ = std::make_shared<const Snapshot>(std::move(next));
  version_.store(snapshot_->version, std::memory_order_release);
}

void RedisFacts::doubt() const {
  if (on_doubt_) {
    on_doubt_();
  }
}

std::uint64_t RedisFacts::epoch() const {
  const std::scoped_lock lock(mutex_);
  return epoch_;
}

bool RedisFacts::publish(std::uint64_t epoch, Reading reading) {
  auto users = std::make_shared<const Users>(std::move(reading.users));
  const std::scoped_lock lock(mutex_);
  if (epoch != epoch_ || changes_in_flight_ > 0) {
    return false;
  }
  replace({.commands = reading.commands ? reading.commands : snapshot_->commands,
           .users = std::move(users),
           .availability = reading.availability,
           .is_master = reading.is_master,
           .idle_timeout = reading.idle_timeout});
  return true;
}

void RedisFacts::withdraw_users() {
  const std::scoped_lock lock(mutex_);
  ++epoch_;
  Snapshot next = *snapshot_;
  next.users = std::make_shared<Users>();
  replace(std::move(next));
}

void RedisFacts::doubt_user(const std::string& user) {
  {
    const std::scoped_lock lock(mutex_);
    ++epoch_;
    Users users = *snapshot_->users;
    users.unrestricted.erase(user);
    users.restricted.erase(user);
    Snapshot next = *snapshot_;
    next.users = std::make_shared<const Users>(std::move(users));
    replace(std::move(next));
  }
  doubt();
}

void RedisFacts::lost() {
  const std::scoped_lock lock(mutex_);
  ++epoch_;
  Snapshot next = *snapshot_;
  next.is_lost = true;
  replace(std::move(next));
}

std::vector<std::string> RedisFacts::users_to_ask() const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> users{"default"};
  users.insert(users.end(), asked_for_.begin(), asked_for_.end());
  return users;
}

std::shared_ptr<const Snapshot> RedisFacts::snapshot() const {
  const std::scoped_lock lock(mutex_);
  return snapshot_;
}

void RedisFacts::ask_for(const std::string& user) {
  {
    const std::scoped_lock lock(mutex_);
    if (user == "default" || asked_for_.size() >= kUsersToAskMax ||
        !asked_for_.insert(user).second) {
      return;
    }
    ++epoch_;  // who is asking now has not asked for it
  }
  doubt();
}

void RedisFacts::change_sent() {
  const std::scoped_lock lock(mutex_);
  ++epoch_;
  ++changes_in_flight_;
  Snapshot next = *snapshot_;
  next.users = std::make_shared<Users>();
  replace(std::move(next));
}

void RedisFacts::change_replied() {
  {
    const std::scoped_lock lock(mutex_);
    ++epoch_;
    --changes_in_flight_;
  }
  doubt();
}

void RedisFacts::note_error(std::string_view first_bytes) {
  for (const KnownError& error : kErrors) {
    if (!first_bytes.starts_with(error.begins)) {
      continue;
    }
    {
      const std::scoped_lock lock(mutex_);
      if (snapshot_->availability == error.means) {
        return;
      }
      ++epoch_;
      Snapshot next = *snapshot_;
      next.availability = error.means;
      replace(std::move(next));
    }
    doubt();
    return;
  }
}

}  // namespace cuckooguard::guard
