// Applies a toy log to the tables that are followed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "source/follow/toy_log.h"

namespace cuckooguard::source {

// One transaction is one event.
class ToyApplier {
 public:
  using Table = ToyLog::Table;
  struct Calls {
    std::function<void(Table& table, std::string_view why)> on_out_of_step;
    std::function<void()> on_definition;
    std::function<void(std::string_view schema, std::string_view table)> on_other_table;
  };

  ToyApplier(ToyPosition position, Calls calls) : position_(position), calls_(std::move(calls)) {}

  void join(Table& table) { tables_.insert(&table); }
  bool has_joined(const Table& table) const { return tables_.contains(const_cast<Table*>(&table)); }
  void leave(Table& table) { tables_.erase(&table); }
  void begin_waiting(Table& /*table*/) {}
  void end_waiting(Table& /*table*/) {}
  static bool is_prepared_before(const Table& /*table*/) { return false; }

  std::expected<bool, std::string> apply(const ToyEvent& event) {
    if (position_.covers(event.group.number)) {
      return show_again(event.group);
    }
    if (event.group.number.number != position_.number() + 1 || is_expecting()) {
      why_void_ = kOtherLog;
      return std::unexpected("the log does not go on where it was");
    }
    if (!event.defined.empty()) {
      calls_.on_definition();
      put_out_of_step(event.defined, "it was defined anew");
    }
    commit(event);
    position_ = ToyPosition(event.group.number.number);
    last_ = event.group;
    return true;
  }
  void reconnected(ToyLog::Format /*format*/, std::uint64_t log_of) {
    log_of_ = log_of;
    if (last_) {
      expected_.push_back(*last_);
    }
  }

  std::uint64_t log_of() const { return log_of_; }
  void rest_on(std::vector<ToyGroup> groups) {
    last_ = groups.front();
    expected_ = {groups.front()};
  }
  bool is_expecting() const { return !expected_.empty(); }
  bool expects_more_than(const ToyPosition& logged) const {
    return std::ranges::any_of(expected_,
                               [&](const ToyGroup& each) { return !logged.covers(each.number); });
  }
  std::string_view why_void() const { return why_void_; }
  const std::optional<ToyGroup>& last_group() const { return last_; }
  ToyPosition resume_position() const {
    return last_ ? ToyPosition(last_->number.number - 1) : position_;
  }
  static bool is_idle() { return true; }
  void judge(ToyCommitted& /*committed*/) const {}

  const ToyPosition& position() const { return position_; }
  const ToyPosition& last_end() const { return position_; }
  static std::monostate place() { return {}; }
  ToyReach reach() const { return {.position = position_}; }

 private:
  std::expected<bool, std::string> show_again(const ToyGroup& group) {
    const bool was_expecting = is_expecting();
    for (const ToyGroup& each : expected_) {
      if (each.number.number == group.number.number && !each.is_same_as(group)) {
        why_void_ = kOtherLog;
        return std::unexpected("the log has another transaction of this number");
      }
    }
    std::erase_if(expected_, [&](const ToyGroup& each) { return each.is_same_as(group); });
    return was_expecting && !is_expecting();
  }

  void commit(const ToyEvent& event) {
    for (const ToyChange& change : event.changes) {
      const std::optional<std::string_view> before = change.before;
      const std::optional<std::string_view> after = change.after;
      each(change.table, [&](Table& table) {
        return table.change(change.before ? std::optional(RowValues(&before, 1)) : std::nullopt,
                            change.after ? std::optional(RowValues(&after, 1)) : std::nullopt);
      });
    }
    const ToyMark mark{.number = event.group.number};
    each("", [&](Table& table) { return table.commit_inserts(mark); });
    each("", [&](Table& table) { return table.commit_erases(mark); });
  }

  // Of this name; of any, if that is empty. One that fails is out of step.
  void each(const std::string& name,
            const std::function<std::expected<void, std::string>(Table& table)>& apply) {
    for (Table* const table : std::set(tables_)) {
      if (name.empty() ? !table->is_touched() : table->plan().name != name) {
        continue;
      }
      if (const auto done = apply(*table); !done) {
        put_out_of_step(table->plan().name, done.error());
      }
    }
  }

  void put_out_of_step(const std::string& name, const std::string& why) {
    for (Table* const table : std::set(tables_)) {
      if (table->plan().name == name) {
        leave(*table);
        calls_.on_out_of_step(*table, why);
      }
    }
  }

  ToyPosition position_;
  Calls calls_;
  std::set<Table*> tables_;
  std::optional<ToyGroup> last_;
  std::vector<ToyGroup> expected_;
  std::string_view why_void_;
  std::uint64_t log_of_ = 0;
};

}  // namespace cuckooguard::source
