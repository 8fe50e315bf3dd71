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
#include <functional>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/core/noncopyable.hpp>

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

// What appliers of all logs do with these tables (follow/log.h).
//
// Threads: the source's. Lifetimes: tables outlive it, or leave().
template <class Log>
class TransactionApplier : boost::noncopyable {
 public:
  using Table = typename Log::Table;

  struct Calls {
    std::function<void(Table& table, std::string_view why)> on_out_of_step;
    std::function<void()> on_definition = [] {};  // of anything, or perhaps of anything
    // Of one that nobody follows: it has rows, or is there.
    std::function<void(std::string_view schema, std::string_view table)> on_other_table =
        [](std::string_view, std::string_view) {};
  };

  virtual ~TransactionApplier() = default;

  // From the end of the transaction at hand on the table is told of changes: of all that
  // position(), as of has_joined(), does not cover.
  void join(Table& table) {
    tables_.join(table);
    if (!is_in_transaction()) {  // of which the table would see the rest alone
      tables_.admit();
    }
  }
  bool has_joined(const Table& table) const { return tables_.has(table); }
  virtual void leave(Table& table) {
    tables_.leave(table);
    table.roll_back();
  }
  // A snapshot of the table will be of a position that is still to come: until then it does not
  // matter to it that rows are committed that were prepared before it has joined.
  void begin_waiting(Table& table) { tables_.begin_waiting(table); }
  void end_waiting(Table& table) { tables_.end_waiting(table); }
  // There are such rows. By default a log sends what was prepared when it is committed.
  static bool is_prepared_before(const Table& /*table*/) { return false; }

  // Which server's log it is (LogGroup::log_of).
  std::uint64_t log_of() const { return log_of_; }
  // Why apply() has failed: no position counts any more. Empty: it has not, or for something else.
  // A literal.
  std::string_view why_void() const { return why_void_; }

 protected:
  explicit TransactionApplier(Calls calls) : calls_(std::move(calls)) {}

  virtual bool is_in_transaction() const = 0;

  // All inserts before all erases: a row that moves to another table is never in neither.
  void commit_tables(const typename Log::Mark& mark) {
    for (const auto step : {&Table::commit_inserts, &Table::commit_erases}) {
      for (Table* const table : tables_.all()) {
        if (!table->is_touched()) {
          continue;
        }
        if (const auto changed = (table->*step)(mark); !changed) {
          put_out_of_step(*table, changed.error());
        }
      }
    }
  }
  void roll_back_tables() {
    for (Table* const table : tables_.all()) {
      table->roll_back();
    }
  }
  void put_out_of_step(Table& table, std::string_view why) {
    leave(table);
    calls_.on_out_of_step(table, why);
  }

  Calls calls_;
  JoinedTables<Table> tables_;
  std::uint64_t log_of_ = 0;
  std::string_view why_void_;
};

}  // namespace cuckooguard::source
