// Gives the consumed front of a FIFO in a vector or string back: all of it at once when it has run
// empty, so that no burst's memory stays, else when it is the larger half, so that a pipeline that
// never pauses does not grow it.
//
//   [consumed ... consumed | head ...]  ->  [head ...]
//
// Threads: free function. Limits: up to kConsumedKept elements are kept although they are consumed.
#pragma once

#include <cstddef>

namespace cuckooguard::io {

inline constexpr std::size_t kConsumedKept = 64;

template <typename Fifo>
void forget_consumed(Fifo& fifo, std::size_t& head) {
  if (head == fifo.size()) {
    Fifo().swap(fifo);
    head = 0;
  } else if (head >= kConsumedKept && head * 2 >= fifo.size()) {
    fifo.erase(fifo.begin(), fifo.begin() + static_cast<std::ptrdiff_t>(head));
    head = 0;
  }
}

}  // namespace cuckooguard::io
