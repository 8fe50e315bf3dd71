#include "filter/questions.h"

#include <algorithm>

namespace cuckooguard::filter {

bool Questions::wait(std::chrono::nanoseconds at_most,
                     std::chrono::nanoseconds pace,
                     const std::stop_token& stop) {
  const auto until = std::chrono::steady_clock::now() + at_most;
  const auto not_before = std::min(until, began_at_ + pace);
  std::unique_lock lock(mutex_);
  woken_.wait_until(lock, stop, until, [this] { return is_wanted(); });
  woken_.wait_until(lock, stop, not_before, [] { return false; });
  return !stop.stop_requested();
}

}  // namespace cuckooguard::filter
