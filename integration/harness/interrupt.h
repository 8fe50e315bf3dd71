// Ctrl-C and SIGTERM, for a program that puts away what it has started: every wait ends with them
// (harness/deadline.h). Without one of these objects they end the program, and its children by the
// kernel's hand.
//
// Threads: what is static, any. The handler only writes a byte into a pipe that nobody reads, so
// that the pipe stays readable from then on.
#pragma once

#include <chrono>
#include <stdexcept>

namespace cuckooguard::harness {

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

  static bool requested() { return !wait_until(Clock::time_point::min()); }
  // False: it was interrupted before that time.
  static bool wait_until(Clock::time_point until);
  // The same. Throws Interrupted.
  static void require_until(Clock::time_point until) {
    if (!wait_until(until)) {
      throw Interrupted();
    }
  }
};

}  // namespace cuckooguard::harness
