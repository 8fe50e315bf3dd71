// A pause that a stop ends at once.
//
// Threads: any.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>

namespace cuckooguard::source {

// False: it is to end.
inline bool pause_for(std::chrono::nanoseconds duration, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any woken;
  std::unique_lock lock(mutex);
  // The predicate is never true: the pause ends by its time or by the stop.
  woken.wait_for(lock, stop, duration, [] { return false; });
  return !stop.stop_requested();
}

}  // namespace cuckooguard::source
