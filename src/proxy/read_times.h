// When the bytes at hand had been received: of each command the time after which no more of it
// came. A strict absent verdict needs a proof that is newer (filter/questions.h).
//
// Bytes that come while their client is held have a later time. Of those that are held two times
// are kept: of the bytes that came first, so that a client that goes on sending is answered all the
// same, and the last one for all that are behind them: later than it was is safe.
//
//   held:  [ came first | came later … ]
//            first_        rest_
//
// Threads: values.
#pragma once

#include <algorithm>
#include <cstddef>

#include "io/clock.h"

namespace cuckooguard::proxy {

class ReadTimes {
 public:
  // All at hand has been received by now.
  void begin(io::TimePoint at) {
    first_bytes_ = 0;
    rest_ = at;
  }
  // More has been received, behind `before` bytes that are held.
  void more(std::size_t before, io::TimePoint at) {
    if (first_bytes_ == 0) {
      first_ = rest_;
      first_bytes_ = before;
    }
    rest_ = at;
  }
  // Of the command at the front.
  io::TimePoint of(std::size_t size) const { return size <= first_bytes_ ? first_ : rest_; }
  void consumed(std::size_t size) { first_bytes_ -= std::min(size, first_bytes_); }

 private:
  io::TimePoint first_{};
  io::TimePoint rest_{};
  std::size_t first_bytes_ = 0;
};

}  // namespace cuckooguard::proxy
