// Whether an event loop still turns: something is posted to it, and must have run when one asks
// again.
//
// One is on its way at a time, sent by whoever asks: a loop that stands still is found by the first
// question that comes kStalledAfter or more behind the one that sent it. There is no timer: a stall
// is detected when somebody asks.
//
// Threads: is_alive() one; what is posted runs on the loop's. Lifetimes: the loop may outlive this,
// and what is posted may never run.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "io/clock.h"

namespace cuckooguard::views {

class Heartbeat {
 public:
  static constexpr std::chrono::seconds kStalledAfter{5};

  using Post = std::function<void(std::function<void()>)>;

  Heartbeat(std::string name, Post post) : name_(std::move(name)), post_(std::move(post)) {}

  const std::string& name() const { return name_; }
  bool is_alive(io::TimePoint now);

 private:
  std::string name_;
  Post post_;
  std::shared_ptr<std::atomic<bool>> has_arrived_;  // null: none was sent
  io::TimePoint sent_{};
};

}  // namespace cuckooguard::views
