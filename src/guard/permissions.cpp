#include "guard/permissions.h"

#include <utility>

namespace cuckooguard::guard {

void Permissions::publish(KnownUsers users) {
  const std::scoped_lock lock(mutex_);
  users_ = std::move(users);
  // Under the lock: whoever has read this version and then asks is told of these users, or of later ones and then asks
  // again, since the version has changed.
  version_.fetch_add(1, std::memory_order_release);
}

bool Permissions::is_unrestricted(std::string_view name) const {
  const std::scoped_lock lock(mutex_);
  return users_.unrestricted.contains(name);
}

bool Permissions::is_initial_user_unrestricted() const {
  const std::scoped_lock lock(mutex_);
  return users_.default_needs_no_password && users_.unrestricted.contains("default");
}

}  // namespace cuckooguard::guard
