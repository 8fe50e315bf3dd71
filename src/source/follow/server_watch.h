// Asks over and over, by a new connection each time, which server an address leads to: a name, a
// virtual IP or a balancer may have moved on to another one while the one that is followed lives on
// and answers.
//
// A connection that is open proves nothing of that, and neither does the resolver's answer: an
// address that is missing from it may still be the same server's, and one that has moved does not
// show there. So the identity of whoever answers is compared. Who cannot be reached has said
// nothing (the server may be full, the resolver ill): the server is followed on. Who refuses us may
// be another one: it has ended.
//
// Costs the server one connection per kEveryMin, or per max_lag if that is longer.
//
// Threads: its own; construction starts it, destruction ends it, and waits for what is being asked.
// Errors: it ends, and says why.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <expected>
#include <functional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "follow/pause.h"

namespace cuckooguard::source {

class ServerWatch {
 public:
  static constexpr std::chrono::seconds kEveryMin{1};
  // Of each connection and answer, so that nobody waits long for its end.
  static constexpr std::chrono::seconds kTimeout{2};
  // An error: another server than is followed answers, or may.
  using Ask = std::function<std::expected<void, std::string>()>;

  // `on_end`: on its thread, once; whoever is to look may be waiting for something else.
  ServerWatch(Ask ask, std::chrono::nanoseconds max_lag, std::function<void()> on_end)
      : ask_(std::move(ask)),
        on_end_(std::move(on_end)),
        every_(std::max<std::chrono::nanoseconds>(max_lag, kEveryMin)),
        thread_([this](const std::stop_token& stop) { run(stop); }) {}
  ServerWatch(const ServerWatch&) = delete;
  ServerWatch& operator=(const ServerWatch&) = delete;
  ~ServerWatch() = default;

  bool has_ended() const { return has_ended_.load(std::memory_order_acquire); }
  const std::string& why() const { return why_; }  // then

 private:
  void run(const std::stop_token& stop) {
    try {
      while (pause_for(every_, stop)) {
        if (auto asked = ask_(); !asked) {
          why_ = std::move(asked.error());
          break;
        }
      }
    } catch (const std::exception&) {
      why_.clear();  // no memory, say
    }
    has_ended_.store(true, std::memory_order_release);
    if (!stop.stop_requested()) {
      on_end_();
    }
  }

  Ask ask_;
  std::function<void()> on_end_;
  std::chrono::nanoseconds every_;
  std::string why_;
  std::atomic<bool> has_ended_{false};
  std::jthread thread_;
};

}  // namespace cuckooguard::source
