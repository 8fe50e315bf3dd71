// How long nothing has gone to a client that sends no more. While it has replies to come it may be
// there or not, nobody can tell; but no command of a Redis that works takes so long (one that
// blocks ends with the FIN). While there is something that it does not read it is the client's
// turn: if it is gone, writing will tell.
//
// Threads: its worker's. Lifetime: its session's.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <utility>

#include "io/loop.h"
#include "io/output_queue.h"

namespace cuckooguard::proxy {

class Silence {
 public:
  // Twice Redis's busy-reply-threshold, its default.
  static constexpr std::chrono::seconds kMax{10};
  static constexpr std::chrono::seconds kVainAfter{5};

  // From now on: `on_over` is called when it has lasted for kMax. Both outlive this.
  Silence(io::Loop& loop, const io::OutputQueue& output, std::function<void()> on_over)
      : loop_(loop), output_(output), since_(loop.now()) {
    look(std::move(on_over));
  }

  void stop() { timer_.reset(); }
  // Bytes have moved towards the client.
  void stir() { since_ = loop_.now(); }
  bool is_in_vain() const { return output_.is_empty() && loop_.now() - since_ >= kVainAfter; }

 private:
  void look(std::function<void()> on_over) {
    if (!output_.is_empty()) {
      since_ = loop_.now();
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(since_ + kMax - loop_.now());
    if (left.count() <= 0) {
      on_over();
      return;
    }
    timer_ = loop_.after(left, [this, on_over = std::move(on_over)] { look(on_over); });
  }

  io::Loop& loop_;
  const io::OutputQueue& output_;
  io::TimePoint since_;
  std::unique_ptr<io::Timer> timer_;
};

}  // namespace cuckooguard::proxy
