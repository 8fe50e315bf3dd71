// Waiting: for a condition, with a deadline, never for an amount of time.
//
// kPatience is for a machine that is busy with a sanitizer build of everything; what works is done
// in milliseconds.
#pragma once

#include <algorithm>
#include <cerrno>
#include <chrono>

#include <poll.h>

#include "harness/interrupt.h"

namespace cuckooguard::harness {

using SteadyClock = std::chrono::steady_clock;
using std::chrono::milliseconds;

inline constexpr milliseconds kPatience{60'000};

class Deadline {
 public:
  explicit Deadline(milliseconds patience = kPatience) : at_(SteadyClock::now() + patience) {}

  bool has_passed() const { return SteadyClock::now() >= at_; }

  // For ::poll: what is left, 0 if nothing is.
  int milliseconds_left() const {
    const auto left = std::chrono::ceil<milliseconds>(at_ - SteadyClock::now()).count();
    return static_cast<int>(std::max<milliseconds::rep>(left, 0));
  }

  // Waits for one of the events, through signals. False: none came.
  [[nodiscard]] bool poll(pollfd& waiting) const {
    int ready = -1;
    while ((ready = ::poll(&waiting, 1, milliseconds_left())) < 0 && errno == EINTR) {
    }
    return ready == 1;
  }

 private:
  SteadyClock::time_point at_;
};

// Asks until the condition holds. False if it does not before the deadline. Throws Interrupted.
template <typename Condition>
[[nodiscard]] bool eventually(const Condition& condition, milliseconds patience = kPatience) {
  constexpr milliseconds kAskEvery{2};
  const Deadline deadline(patience);
  while (!condition()) {
    if (deadline.has_passed()) {
      return false;
    }
    // Leaves the core to those we wait for.
    Interrupt::require_until(SteadyClock::now() + kAskEvery);
  }
  return true;
}

// For what takes its time: a test that waits for something has eventually().
inline void let_pass(milliseconds time) {
  (void)eventually([] { return false; }, time);
}

}  // namespace cuckooguard::harness
