// Ends another thread's poll().
//
// Threads: any. Errors: std::system_error, where there is no descriptor left.
#pragma once

#include <cerrno>
#include <cstdint>
#include <system_error>

#include <sys/eventfd.h>
#include <unistd.h>

namespace cuckooguard::upstream {

class WakeUp {
 public:
  WakeUp() : descriptor_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (descriptor_ < 0) {
      throw std::system_error(errno, std::generic_category(), "eventfd");
    }
  }
  ~WakeUp() { ::close(descriptor_); }
  WakeUp(const WakeUp&) = delete;
  WakeUp& operator=(const WakeUp&) = delete;

  int descriptor() const { return descriptor_; }  // to poll for reading
  void call() const {
    const std::uint64_t one = 1;
    // It fails only if the counter is full: then the thread is about to wake anyway.
    [[maybe_unused]] const ssize_t written = ::write(descriptor_, &one, sizeof(one));
  }
  // Whether it was called since the last time.
  bool take() const {
    std::uint64_t calls = 0;
    return ::read(descriptor_, &calls, sizeof(calls)) > 0;
  }

 private:
  int descriptor_;
};

}  // namespace cuckooguard::upstream
