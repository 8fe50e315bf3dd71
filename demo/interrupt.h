// Ctrl-C and SIGTERM, and every wait of the demo, which they end.
//
// Threads: wait() and requested() from any. The handler only writes a byte into a pipe that nobody
// reads, so that the pipe stays readable from then on.
#pragma once

#include <chrono>
#include <stdexcept>

namespace cuckooguard::demo {

class Interrupted : public std::runtime_error {
 public:
  Interrupted() : std::runtime_error("interrupted") {}
};

class Interrupt {
 public:
  using Clock = std::chrono::steady_clock;

  Interrupt();  // one per process
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool requested() const;
  // False: it was interrupted before that time.
  bool wait_until(Clock::time_point until) const;

  // Asks until the condition holds; false if it does not before the deadline. Throws Interrupted.
  template <typename Condition>
  bool eventually(Clock::duration patience, const Condition& condition) const {
    constexpr std::chrono::milliseconds kAskEvery{5};
    const auto deadline = Clock::now() + patience;
    while (!condition()) {
      if (Clock::now() >= deadline) {
        return false;
      }
      if (!wait_until(Clock::now() + kAskEvery)) {
        throw Interrupted();
      }
    }
    return true;
  }
};

}  // namespace cuckooguard::demo
