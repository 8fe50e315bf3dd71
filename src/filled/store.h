// Where operations go: applied here and now (filled/local_store.h), or through a log that several
// guards share (replicated/filter_log.h).
//
// Threads:   submit(), is_current() and log() from any. A change is finished once, by one thread,
//            and one thread waits for it; once it has seen is_done() it may read the outcome.
// Lifetimes: a change lives as long as somebody waits for it, or the store has it.
// Errors:    outcomes. Limits: the store's; a change beyond them is finished as `not_in_log`.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "filled/operation.h"

namespace cuckooguard::filled {

// Finished changes, on their way to the thread that waits for them: a worker.
//
//   any thread: Change::finish() ─▶ add() ─ the first one: post ─▶ the worker: take() ─▶ tells each
//
// Must: no change is missed. While the list is not empty, one post is on its way: an add() that
//   finds it empty posts, and so does a take() that leaves entries in it.
//
// Threads:   add() from any, all else the worker's. Lifetimes: changes share it with the worker,
//            which close()s it before what it posts to ends.
// Errors:    a post that fails, for want of memory, is tried again until it succeeds.
// Limits:    one entry for each change that is waited for; take() gives kPerTurn, so that others
//            are served in between.
class FinishedChanges {
 public:
  static constexpr std::size_t kPerTurn = 256;
  using Waiters = std::list<void*>;  // names: what is there may have gone

  // `post`: take() is to be called on the worker's thread, soon.
  explicit FinishedChanges(std::function<void()> post) : post_(std::move(post)) {}

  // Takes them out of the list in which they come, which needs no memory.
  void add(Waiters& waiters) noexcept;
  Waiters take();
  void close();  // nothing is posted any more

 private:
  void post(std::unique_lock<std::mutex>& lock);

  std::function<void()> post_;  // null: closed
  std::condition_variable closed_;
  std::mutex mutex_;
  Waiters waiters_;
};

using TimePoint = std::chrono::steady_clock::time_point;

class Change {
 public:
  explicit Change(Operation operation) : operation_(std::move(operation)) {}

  const Operation& operation() const { return operation_; }
  bool is_done() const noexcept { return state_.load(std::memory_order_acquire) == State::done; }
  const Outcome& outcome() const { return outcome_; }  // if is_done()
  // The same, once, for whoever has submitted it alone.
  std::string take_blob() { return std::exchange(outcome_.blob, {}); }

  // Once: `waiter` is added to `finished` when it is done, also if it is already.
  void await(std::shared_ptr<FinishedChanges> finished, void* waiter) {
    waiter_.push_back(waiter);
    finished_ = std::move(finished);
    State state = State::begun;
    if (!state_.compare_exchange_strong(state, State::awaited, std::memory_order_acq_rel)) {
      finished_->add(waiter_);
    }
  }
  void finish(Outcome outcome) noexcept {
    outcome_ = std::move(outcome);
    if (state_.exchange(State::done, std::memory_order_acq_rel) == State::awaited) {
      finished_->add(waiter_);
    }
  }

 private:
  enum class State : std::uint8_t { begun, awaited, done };

  Operation operation_;
  Outcome outcome_;
  FinishedChanges::Waiters waiter_;  // and `finished_`: of whoever has made it `awaited`, or done
  std::shared_ptr<FinishedChanges> finished_;
  std::atomic<State> state_{State::begun};
};

// A dump that its store is making, in turns.
struct UnfinishedDump {
  std::shared_ptr<Change> change;
  std::shared_ptr<DumpImage> image;
  std::string bytes{};
};

enum class LogState : std::uint8_t {
  loading,  // what Redis has is being read
  ready,
  lost,  // it cannot be read; `why` says what to do, if there is something
};
constexpr std::string_view name_of(LogState state) {
  constexpr std::array<std::string_view, 3> kNames{"loading", "ready", "lost"};
  return kNames.at(static_cast<std::size_t>(state));
}

// How a log is followed, for people.
struct LogStatus {
  LogState state = LogState::loading;
  std::string why{};
  std::string generation{};   // in hexadecimal
  std::uint64_t seq = 0;      // of the last entry that was applied
  std::uint64_t skipped = 0;  // entries that do not count
  std::uint64_t rereads = 0;  // how often all was read again
  std::uint64_t snapshot_seq = 0;
  // When that snapshot was first seen; nothing: it was there before this process.
  std::optional<TimePoint> snapshot_at{};
  std::size_t waiting = 0;  // changes, those that have been sent included
};

class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;

  // Perhaps it is done at once.
  virtual void submit(std::shared_ptr<Change> change) = 0;
  // Every change that any guard acknowledged up to a moment before `now` is here: an item that is
  // not in a filter was not added to it.
  virtual bool is_current(TimePoint now) const noexcept = 0;
  virtual std::optional<LogStatus> log() const { return std::nullopt; }  // nothing: it has none
};

}  // namespace cuckooguard::filled
