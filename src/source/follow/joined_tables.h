// Which tables follow a log, and since when.
//
//   join() ─▶ joining ─ admit(), between two transactions ─▶ there ─▶ leave()
//
// Each admission has a number, so that it can be told whether a table was there when something was
// read.
//
// Threads: the source's, under the follower's lock. Lifetimes: tables outlive it, or leave().
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

namespace cuckooguard::source {

template <class Table>
class JoinedTables {
 public:
  void join(Table& table) { joining_.push_back(&table); }
  void admit() {
    tables_.insert(tables_.end(), joining_.begin(), joining_.end());
    for (const Table* const table : joining_) {
      joined_at_[table] = ++joins_;
    }
    joining_.clear();
  }
  void leave(Table& table) {
    std::erase(tables_, &table);
    std::erase(joining_, &table);
    std::erase(waiting_, &table);
    joined_at_.erase(&table);
  }

  // Those that are there, as they are now: what is done to them may make some leave.
  std::vector<Table*> all() const { return tables_; }
  bool has(const Table& table) const { return joined_at_.contains(&table); }
  // The number of the last admission.
  std::uint64_t joins() const { return joins_; }
  // The number of its own; 0: it is not there.
  std::uint64_t join_of(const Table& table) const {
    const auto found = joined_at_.find(&table);
    return found == joined_at_.end() ? 0 : found->second;
  }

  // A snapshot of the table is still to come.
  void begin_waiting(Table& table) { waiting_.push_back(&table); }
  void end_waiting(Table& table) { std::erase(waiting_, &table); }
  bool is_waiting(const Table& table) const {
    return std::ranges::find(waiting_, &table) != waiting_.end();
  }

 private:
  std::vector<Table*> tables_;
  std::vector<Table*> joining_;
  std::vector<Table*> waiting_;
  std::uint64_t joins_ = 0;
  std::map<const Table*, std::uint64_t> joined_at_;
};

}  // namespace cuckooguard::source
