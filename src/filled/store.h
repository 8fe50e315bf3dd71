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
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <boost/core/noncopyable.hpp>

#include "filled/operation.h"

namespace cuckooguard::filled {

using TimePoint = std::chrono::steady_clock::time_point;

class Change {
 public:
  explicit Change(Operation operation) : operation_(std::move(operation)) {}

  const Operation& operation() const { return operation_; }
  bool is_done() const noexcept { return state_.load(std::memory_order_acquire) == State::done; }
  const Outcome& outcome() const { return outcome_; }  // if is_done()
  // The same, once, for whoever has submitted it alone.
  std::string take_blob() { return std::exchange(outcome_.blob, {}); }

  // A list of one, which can be moved into another without memory.
  using Waiter = std::list<void*>;
  // Once: `on_done` gets the waiter when it is done, also if it is already. It does not throw.
  void await(std::function<void(Waiter&)> on_done, void* waiter) {
    waiter_.push_back(waiter);
    on_done_ = std::move(on_done);
    State state = State::begun;
    if (!state_.compare_exchange_strong(state, State::awaited, std::memory_order_acq_rel)) {
      on_done_(waiter_);
    }
  }
  void finish(Outcome outcome) noexcept {
    outcome_ = std::move(outcome);
    if (state_.exchange(State::done, std::memory_order_acq_rel) == State::awaited) {
      on_done_(waiter_);
    }
  }

 private:
  enum class State : std::uint8_t { begun, awaited, done };

  Operation operation_;
  Outcome outcome_;
  Waiter waiter_;  // and `on_done_`: of whoever has made it `awaited`, or done
  std::function<void(Waiter&)> on_done_;
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

class Store : boost::noncopyable {
 public:
  virtual ~Store() = default;

  // Perhaps it is done at once.
  virtual void submit(std::shared_ptr<Change> change) = 0;
  // Redis has just lost all its keys (FLUSHALL): filters of before are gone when `change`, which
  // does nothing, is finished.
  virtual void flushed(std::shared_ptr<Change> change) = 0;
  // Every change that any guard acknowledged up to a moment before `now` is here: an item that is
  // not in a filter was not added to it.
  virtual bool is_current(TimePoint now) const noexcept = 0;
  virtual std::optional<LogStatus> log() const { return std::nullopt; }  // nothing: it has none
};

}  // namespace cuckooguard::filled
