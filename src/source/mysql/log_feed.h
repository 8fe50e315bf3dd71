// One table's rows on their way from a log into a filter: first beside a snapshot that is being
// read, then into the filter that look-ups see.
//
// A row counts if the namespace's condition holds for it and its identity has no NULL; its key must
// lead back to it (keyspace). What is wrong with a row, in a snapshot or in the log, makes the
// namespace unsynced, with the row named.
//
// Threads: under the follower's lock, but for what PendingChanges allows. Lifetimes: the feed and
// the plan outlive it. Errors: sentences. A filter that is full, or that should erase what it does
// not have, disagrees with the log: the table must be read again.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mysql/deferred_erasures.h"
#include "mysql/followed_table.h"
#include "mysql/pending_changes.h"
#include "source/feed.h"

namespace cuckooguard::source {

class LogFeed final : public RowTarget {
 public:
  LogFeed(Feed& feed, const MysqlTable& plan);

  // In the order of MysqlTable::needed(): of a row's values those that are its identity.
  static RowValues identity(const MysqlTable& plan, RowValues values) {
    return values.first(plan.identity.size());
  }

  // Whether the condition holds for a row, in the same order. Any thread.
  bool counts(RowValues values) const { return plan_.condition.holds(values, condition_places_); }

  std::expected<Transaction::Image, std::string> image(RowValues values) override;
  bool has(const LogGtid& gtid) const override { return since_ && since_->covers(gtid); }
  std::expected<void, std::string> insert(const CommitMark& mark,
                                          const Transaction& transaction) override;
  std::expected<void, std::string> erase(const CommitMark& mark,
                                         const Transaction& transaction) override;

  PendingChanges& pending() { return pending_; }
  const PendingChanges& pending() const { return pending_; }
  // What is pending goes into a filter that is not the feed's yet; erasures, which are of before
  // this position and place, wait until the server has committed them. A sentence if they do not go
  // together.
  std::expected<void, std::string> take_pending(filter::CuckooFilter& filter,
                                                LogPosition position,
                                                const LogPlace& place);
  // From now on changes go into the feed's filter, which has all that was pending.
  void go_live() { is_live_ = true; }
  // The server has committed so much: what was erased by it is erased now. A sentence if the filter
  // and the log disagree.
  std::expected<void, std::string> make_erasures(const Committed& committed);
  // What was heard of that does not count any more: it may be another server's word.
  void forget_committed() { erasures_.forget_committed(); }
  // Some wait for that; more than should be kept.
  bool has_erasures() const { return !erasures_.is_empty(); }
  bool has_too_many_erasures() const { return erasures_.is_full(); }
  // The filter comes from a checkpoint, and has all that this position covers.
  void begin_behind(LogPosition position) { since_ = std::move(position); }
  // Whether a filter that has all up to `applied` is what the rows were there.
  bool has_reached(const LogPosition& applied);

  // How often the feed's filter was changed.
  std::uint64_t changes() const { return changes_; }
  // The filter still does its work, but wastes room: many rows have gone that it could not forget
  // (`deferred`), or it is nearly full. Asked after changes; no more often than tables can be read.
  bool wants_rebuild() const;

 private:
  Feed& feed_;
  const MysqlTable& plan_;
  PendingChanges pending_;
  DeferredErasures erasures_;
  bool is_live_ = false;
  std::optional<LogPosition> since_;
  std::uint64_t changes_ = 0;
  std::vector<std::size_t> condition_places_;  // in a row, as plan_.condition.columns()
};

}  // namespace cuckooguard::source
