// Rows that a log says are gone, until they are gone for all who look.
//
// A log has a transaction before its engine commits it: by microseconds, or, while a
// semi-synchronous replica that must acknowledge it is silent, by seconds. Meanwhile everybody
// still sees the rows that it deletes. So their keys stay in the filter until the server has shown
// that it has committed (Log::Committed).
// Inserts need no such thing: a key that passes too early costs a question.
//
// Must: each erasure is made once, or is taken back by an insert of the same hash, which then is
// not made: so that a row that comes and goes does not fill its buckets with copies.
//
// Threads: under the follower's lock. Limits: is_full() beyond kHashesMax: the log has to wait; one
// transaction may go beyond. Some 60 bytes per row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "source/transaction.h"

namespace cuckooguard::source {

template <class Log>
class DeferredErasures {
 public:
  using Mark = typename Log::Mark;
  using Reach = typename Log::Reach;
  using Committed = typename Log::Committed;

  static constexpr std::size_t kHashesMax = 4'000'000;

  // Calls erase(hash) where they can be made at once.
  template <class Erase>
  void add(const Mark& mark, const Transaction& transaction, const Erase& erase) {
    // What waits may be of the same hash.
    if (committed_ && groups_.empty() && committed_->covers_later(mark)) {
      transaction.for_each_erase(erase);
      return;
    }
    groups_.push_back({.end = mark, .hashes = {}});
    transaction.for_each_erase([this](std::uint64_t hash) { add_one(hash); });
    if (groups_.back().hashes.empty()) {
      groups_.pop_back();
    }
  }
  // What is added by add_one() is of many transactions, which all end at `applied` or before.
  void begin_all(Reach applied) { groups_.push_back({.end = std::move(applied), .hashes = {}}); }
  void add_one(std::uint64_t hash) {
    groups_.back().hashes.push_back(hash);
    ++waiting_[hash].erasures;
    ++hashes_;
  }
  // True: one of this hash is not made, and nothing needs to be inserted, since the filter has it
  // still.
  bool take_back(std::uint64_t hash) {
    const auto found = waiting_.find(hash);
    if (found == waiting_.end() || found->second.taken_back == found->second.erasures) {
      return false;
    }
    ++found->second.taken_back;
    return true;
  }

  // Calls erase(hash) for all that can be made by now.
  template <class Erase>
  void make(const Committed& committed, const Erase& erase) {
    committed_ = committed;
    const auto is_covered = [&committed](const auto& end) { return committed.covers(end); };
    while (!groups_.empty() && std::visit(is_covered, groups_.front().end)) {
      for (const std::uint64_t hash : groups_.front().hashes) {
        if (is_due(hash)) {
          erase(hash);
        }
      }
      hashes_ -= groups_.front().hashes.size();
      groups_.pop_front();
    }
  }
  void forget_committed() { committed_.reset(); }
  bool is_empty() const { return groups_.empty(); }
  bool is_full() const { return hashes_ >= kHashesMax; }

 private:
  struct Group {
    std::variant<Mark, Reach> end;
    std::vector<std::uint64_t> hashes;
  };
  struct Waiting {
    std::uint32_t erasures = 0;
    std::uint32_t taken_back = 0;  // of them
  };

  bool is_due(std::uint64_t hash) {
    const auto found = waiting_.find(hash);
    Waiting& waiting = found->second;
    const bool is_taken_back = waiting.taken_back > 0;
    waiting.taken_back -= is_taken_back ? 1 : 0;
    if (--waiting.erasures == 0) {
      waiting_.erase(found);
    }
    return !is_taken_back;
  }

  std::optional<Committed> committed_;
  std::deque<Group> groups_;  // in the log's order
  std::size_t hashes_ = 0;
  std::unordered_map<std::uint64_t, Waiting> waiting_;
};

}  // namespace cuckooguard::source
