// One direction of a simulated connection: bytes on their way, bytes that have arrived and wait to
// be read, and the writer's farewell behind them.
//
//   write() -> [in flight] -> deliver() -> [arrived] -> read()
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

#include "simulation/byte_queue.h"

namespace cuckooguard::simulation {

class Pipe {
 public:
  std::size_t capacity = std::size_t{1} << 20U;

  std::size_t room() const {
    const std::size_t used = in_flight_.size() + unread();
    return used < capacity ? capacity - used : 0;
  }
  std::size_t in_flight() const { return in_flight_.size(); }
  std::size_t unread() const { return arrived_.size(); }
  bool is_moving() const { return !in_flight_.empty() || (finished_ && !finish_arrived_); }
  // The reader has read all that will come.
  bool at_end() const { return finish_arrived_ && unread() == 0; }
  bool finish_has_arrived() const { return finish_arrived_; }
  bool is_finished() const { return finished_; }

  void write(std::string_view bytes) { in_flight_.append(bytes); }
  void finish() { finished_ = true; }

  void deliver(std::size_t bytes) {
    arrived_.append(in_flight_.view().substr(0, bytes));
    in_flight_.take(bytes);
    finish_arrived_ = finished_ && in_flight_.empty();
  }

  std::size_t read(std::span<char> into) {
    const std::size_t bytes = std::min(into.size(), unread());
    arrived_.view().copy(into.data(), bytes);
    arrived_.take(bytes);
    return bytes;
  }

  void lose_in_flight() { in_flight_.clear(); }
  void lose_arrived() { arrived_.clear(); }

 private:
  ByteQueue in_flight_;
  ByteQueue arrived_;
  bool finished_ = false;
  bool finish_arrived_ = false;
};

}  // namespace cuckooguard::simulation
