// A namespace's mode, as an operator may change it while workers decide (GUARD.MODE).
//
// Threads: any. A worker may decide by the mode of before for as long as the command at hand takes.
#pragma once

#include <atomic>

#include "config/config.h"

namespace cuckooguard::guard {

class LiveMode {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor,hicpp-explicit-conversions): it stands for its value
  LiveMode(config::Mode mode) noexcept : mode_(mode) {}
  LiveMode(const LiveMode& other) noexcept : mode_(other.get()) {}
  LiveMode& operator=(const LiveMode& other) noexcept {
    set(other.get());
    return *this;
  }
  ~LiveMode() = default;

  config::Mode get() const noexcept { return mode_.load(std::memory_order_relaxed); }
  // NOLINTNEXTLINE(google-explicit-constructor,hicpp-explicit-conversions): it stands for its value
  operator config::Mode() const noexcept { return get(); }
  // What is shared by all workers is const to them, but for this.
  void set(config::Mode mode) const noexcept { mode_.store(mode, std::memory_order_relaxed); }

 private:
  mutable std::atomic<config::Mode> mode_;
};

}  // namespace cuckooguard::guard
