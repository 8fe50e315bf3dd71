// A pause that a stop ends at once, and a reader that wants a question.
//
// Threads: any; with questions, the one that asks them.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>

#include "source/follower.h"

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

// Shorter if a question is wanted, and may be asked.
inline bool pause_for(std::chrono::nanoseconds at_most,
                      const Asking& asking,
                      const std::stop_token& stop) {
  filter::Questions* const questions = asking.questions();
  return questions == nullptr ? pause_for(at_most, stop)
                              : questions->wait(at_most, asking.pace(), stop);
}

}  // namespace cuckooguard::source
