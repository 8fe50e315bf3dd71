// Where operations go: applied here and now (filled/local_store.h), or by way of a log that several
// guards share (upstream/filter_log.h).
//
// Threads:   submit() and is_current() from any. A change is finished once, by one thread; whoever
//            has seen is_done() may read its outcome.
// Lifetimes: a change lives as long as somebody waits for it, or the store has it.
// Errors:    outcomes. Limits: the store's; what is too much is finished as `not_in_log`.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "filled/operation.h"

namespace cuckooguard::filled {

using TimePoint = std::chrono::steady_clock::time_point;

class Change {
 public:
  explicit Change(Operation operation) : operation_(std::move(operation)) {}

  const Operation& operation() const { return operation_; }
  bool is_done() const noexcept { return done_.load(std::memory_order_acquire); }
  const Outcome& outcome() const { return outcome_; }  // if is_done()

  void finish(Outcome outcome) {
    outcome_ = std::move(outcome);
    done_.store(true, std::memory_order_release);
  }

 private:
  Operation operation_;
  Outcome outcome_;
  std::atomic<bool> done_{false};
};

class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;

  // Perhaps it is done at once.
  virtual void submit(std::shared_ptr<Change> change) = 0;
  // Nothing that was acknowledged by any guard a moment before `now` is missing here: what is not
  // in a filter was not added to it.
  virtual bool is_current(TimePoint now) const noexcept = 0;
};

}  // namespace cuckooguard::filled
