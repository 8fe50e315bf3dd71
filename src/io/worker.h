// One thread with one AsioLoop. A client lives on one worker from its first byte to its last.
//
// Threads: construct, start(), stop() and join() from the owner's; post() from any.
#pragma once

#include <functional>
#include <thread>

#include "io/asio_loop.h"

namespace cuckooguard::io {

class Worker {
 public:
  explicit Worker(BatchHooks hooks) : loop_(std::move(hooks)) {}
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() { stop_and_join(); }

  AsioLoop& loop() { return loop_; }

  void start();
  // The batch at hand ends first. Queued work that has not begun is dropped.
  void stop_and_join();

 private:
  AsioLoop loop_;
  std::thread thread_;
};

}  // namespace cuckooguard::io
