// Changes on their way through a log: those that wait to be put into an entry, and those whose
// entry has not come back yet.
//
//   push() ─▶ waiting ─ next() ─▶ a batch ─ sent() ─▶ in flight ─ came_back() ─▶ finished
//
// Threads:   push() and size() from any; all else from one.
// Lifetimes: changes still here at the end are finished.
// Errors:    outcomes, in sentences. A change that was sent and has not come back is `unknown`, any
//            other `not_in_log`.
// Limits:    Limits of what waits; a batch has kBatchMax changes, or kBatchBytesMax, or one change.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "filled/store.h"

namespace cuckooguard::filled {

class ChangeQueue {
 public:
  static constexpr std::size_t kBatchMax = 256;
  static constexpr std::size_t kBatchBytesMax = std::size_t{256} << 10U;

  struct Limits {
    std::size_t changes = 65536;
    std::size_t bytes = std::size_t{64} << 20U;
    std::chrono::milliseconds wait{5000};  // of each change, until it is finished
  };
  struct Waiting {
    std::shared_ptr<Change> change;
    TimePoint due;
    std::size_t bytes = 0;
  };
  using Batch = std::vector<Waiting>;

  explicit ChangeQueue(Limits limits) : limits_(limits) {}
  ~ChangeQueue();
  ChangeQueue(const ChangeQueue&) = delete;
  ChangeQueue& operator=(const ChangeQueue&) = delete;

  // True: there is something to do, where there was nothing.
  bool push(std::shared_ptr<Change> change, TimePoint now);
  std::size_t size() const;

  // Closed, it takes nothing, and what waits is finished. It begins open.
  void open();
  void close(const std::string& why);

  Batch next();  // empty: nothing waits
  void sent(std::uint64_t counter, Batch batch);
  std::size_t in_flight() const { return in_flight_.size(); }
  // Changes that have an image are not finished: the caller does that, with the bytes.
  std::vector<UnfinishedDump> came_back(std::uint64_t counter, std::span<Outcome> outcomes);
  void refused(std::uint64_t counter, const std::string& why);
  // None of those in flight will come back.
  void lose(const std::string& why);
  void finish_overdue(TimePoint now);

 private:
  void finish(Waiting& waiting, Outcome outcome);
  void leave(const Waiting& waiting);

  Limits limits_;
  mutable std::mutex mutex_;  // for all but in_flight_
  std::optional<std::string> closed_;
  std::deque<Waiting> waiting_;
  std::size_t changes_ = 0;  // waiting and in flight
  std::size_t bytes_ = 0;
  std::map<std::uint64_t, Batch> in_flight_;
};

}  // namespace cuckooguard::filled
