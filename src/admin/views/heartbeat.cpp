#include "views/heartbeat.h"

namespace cuckooguard::views {

bool Heartbeat::is_alive(io::TimePoint now) {
  if (has_arrived_ != nullptr && !has_arrived_->load(std::memory_order_acquire)) {
    return now - sent_ < kStalledAfter;
  }
  has_arrived_ = std::make_shared<std::atomic<bool>>(false);
  sent_ = now;
  post_([arrived = has_arrived_] { arrived->store(true, std::memory_order_release); });
  return true;
}

}  // namespace cuckooguard::views
