// Asks a builder for proofs, every kAskEvery and as soon as a reader wants one. In that case the
// builder is woken, and does not wait for its next tick. It has a connection of its own, because
// the follower's waits for the log.
//
//   reader ── want() ─▶ asker's thread ── HSET asks, XADD wake ─▶ Redis ─▶ builder
//
// Threads:   its own, from the constructor to the destructor; the rest is the follower's.
// Lifetimes: the questions and the observer outlive it.
// Errors:    what say() returns; it connects again after a pause.
// Limits:    one question in kPace; while one is open that a reader waits for, one in kAskEvery.
#pragma once

#include <chrono>
#include <condition_variable>
#include <expected>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "filter/questions.h"
#include "fleet/layout.h"
#include "fleet/replica.h"
#include "source/follower.h"
#include "source/source_kind.h"

namespace cuckooguard::fleet {

class Asker {
 public:
  static constexpr std::chrono::milliseconds kAskEvery{250};
  static constexpr std::chrono::milliseconds kPace{20};  // unless `asking` has another one

  struct Settings {
    std::string source;  // for the observer
    std::string name;    // of the follower
    Keys keys;
    source::OpenRedis redis;
    source::Observer& observer;
    source::Asking asking;
    source::Clock clock;
  };

  Asker(Settings settings, OwnQuestions& questions);
  Asker(const Asker&) = delete;
  Asker& operator=(const Asker&) = delete;
  ~Asker() = default;

  // What goes with its questions; nothing: it asks none. `lacks` goes with one of them. Returns why
  // none can be asked just now; empty: they can.
  std::string say(std::optional<Ask> ask, std::optional<TimePoint> proven_at);
  // All that was asked by then is answered.
  void answered(TimePoint at);
  // Until then; not while a reader waits for an answer, for kAskEvery at most.
  void rest_until(TimePoint end, const std::stop_token& stop);

 private:
  using Done = std::expected<void, std::string>;

  void run(const std::stop_token& stop);
  Done ask();
  void told(TableId lacks);

  Settings settings_;
  OwnQuestions& questions_;
  filter::Questions nobodys_;  // where `asking` has none
  std::unique_ptr<source::RedisSession> redis_;
  source::Backoff backoff_{std::chrono::milliseconds(100), source::Backoff::kUnreachedMax};
  bool has_told_ = false;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::optional<Ask> said_;
  std::optional<TimePoint> proven_at_;
  std::string trouble_;
  std::optional<TimePoint> open_;  // since when a reader waits for an answer
  std::jthread thread_;
};

}  // namespace cuckooguard::fleet
