// A thread whose work goes on until it fails, and that says why it has ended.
//
// Threads: its own; construction starts it, destruction requests its stop and joins it. Errors: an
// exception (no memory) ends it, too, without a word.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

namespace cuckooguard::source {

class EndingThread {
 public:
  // Why it has ended.
  using Work = std::function<std::string(const std::stop_token& stop)>;

  // `on_end`: on the thread, once, unless it was stopped; has_ended() is true by then.
  explicit EndingThread(
      Work work, std::function<void()> on_end = [] {})
      : thread_([this, work = std::move(work), on_end = std::move(on_end)](
                    const std::stop_token& stop) {
          try {
            why_ = work(stop);
          } catch (const std::exception&) {
            why_.clear();
          }
          has_ended_.store(true, std::memory_order_release);
          if (!stop.stop_requested()) {
            on_end();
          }
        }) {}

  bool has_ended() const { return has_ended_.load(std::memory_order_acquire); }
  const std::string& why() const { return why_; }  // then

 private:
  std::string why_;
  std::atomic<bool> has_ended_{false};
  std::jthread thread_;
};

}  // namespace cuckooguard::source
