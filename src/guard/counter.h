// A number that one thread counts and any may read.
#pragma once

#include <atomic>
#include <cstdint>

namespace cuckooguard::guard {

class Counter {
 public:
  // One writer: no locked instruction.
  void add(std::uint64_t amount = 1) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
  std::uint64_t value() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

}  // namespace cuckooguard::guard
