// One thread with one AsioLoop. What the guard itself asks Redis has workers of its own
// (upstream/redis_client.h).
//
// Threads: construct, start() and stop_and_join() from the owner's.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

#include "io/asio_loop.h"

namespace cuckooguard::io {

class Worker {
 public:
  explicit Worker(BatchHooks hooks, const TlsSlot* credentials = nullptr)
      : loop_(std::move(hooks), credentials) {}
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() { stop_and_join(); }

  AsioLoop& loop() { return loop_; }

  void start() {
    start([this] { loop_.run(); });
  }
  // Runs this in place of the loop, which it does itself (AsioLoop::run_one) until it is stopped.
  void start(std::function<void()> run);
  // The batch at hand ends first. Queued work that has not begun is dropped.
  void stop_and_join();
  // Of a started one: the CPU time of its thread.
  std::chrono::nanoseconds worked();

 private:
  AsioLoop loop_;
  std::thread thread_;
};

}  // namespace cuckooguard::io
