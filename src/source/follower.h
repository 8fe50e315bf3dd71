// What runs on a source's thread: one step at a time, so that a test can take the steps itself.
//
// Threads: step(), question_pace() and finish() on the source's.
#pragma once

#include <chrono>
#include <optional>
#include <stop_token>
#include <string_view>

#include "source/source.h"

namespace cuckooguard::source {

class Follower {
 public:
  Follower() = default;
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;
  virtual ~Follower() = default;

  // Does what is next (a look, a load) and returns how long to wait before the next step. A long
  // step ends early when `stop` is requested.
  virtual std::chrono::nanoseconds step(const std::stop_token& stop) = 0;
  // The next step would answer readers' questions, which may cut the wait for it short, but no
  // steps are closer than this. Nothing: it would not, as of what answers on a thread of its own,
  // or is waiting for what it has lost.
  virtual std::optional<std::chrono::nanoseconds> question_pace() const { return std::nullopt; }
  // After the last step: makes the namespaces pass.
  virtual void finish() = 0;
  // See Source. Any thread, before finish().
  virtual void let_go() {}

  // Any thread: see Source.
  virtual SourceStatus status() const { return {}; }
  virtual Reached reached(std::string_view /*position*/) const { return Reached::not_followed; }
};

}  // namespace cuckooguard::source
