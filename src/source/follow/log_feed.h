// One table's rows on their way from a log into a filter: first beside a snapshot that is being
// read, then into the filter that look-ups see.
//
// A row counts if the namespace's condition holds for it and its identity has no NULL; its key must
// lead back to it (keyspace). What is wrong with a row, in a snapshot or in the log, makes the
// namespace unsynced, with the row named.
//
// Threads: under the follower's lock, but for what PendingChanges allows. Lifetimes: the feed,
// the plan and the proofs outlive it. Errors: sentences. A filter that is full, or that should
// erase what it does not have, disagrees with the log: the table must be read again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "filter/cuckoo_filter.h"
#include "follow/deferred_erasures.h"
#include "follow/pending_changes.h"
#include "follow/position_proofs.h"
#include "follow/table_changes.h"
#include "source/feed.h"

namespace cuckooguard::source {

template <class Log>
class LogFeed final : public RowTarget<Log> {
 public:
  using Id = typename Log::Id;
  using Mark = typename Log::Mark;
  using Plan = typename Log::Plan;
  using Position = typename Log::Position;
  using Done = std::expected<void, std::string>;

  LogFeed(Feed& feed, const Plan& plan, const PositionProofs<Position, typename Log::Place>& proofs)
      : feed_(feed),
        plan_(plan),
        proofs_(proofs),
        condition_places_(places_in(plan.needed(), plan.condition_columns)) {}

  // Of a row's values those that are its identity.
  static RowValues identity(const Plan& plan, RowValues values) {
    return values.first(plan.identity.size());
  }

  // Whether the condition holds for a row. Any thread.
  bool counts(RowValues values) const { return plan_.condition.holds(values, condition_places_); }

  std::expected<Transaction::Image, std::string> image(RowValues values) override {
    // Also of a row that does not count, for its id: the next one is above it, and may.
    const bool is_counted = counts(values);
    auto hash = feed_.hash_of(identity(plan_, values), is_counted);
    if (!is_counted) {
      return std::nullopt;
    }
    return hash;
  }
  bool has(const Id& id) const override { return since_ && since_->covers(id); }

  Done insert(const Mark& mark, const Transaction& transaction) override {
    if (!is_live_) {
      if (!pending_.add(mark, transaction)) {
        return std::unexpected("more rows are changed than can be kept while a view is opened");
      }
      return {};
    }
    if (has(mark.id())) {
      return {};
    }
    ++changes_;
    return insert_live(transaction, proofs_.commit_times(mark.id()));
  }
  Done erase(const Mark& mark, const Transaction& transaction) override {
    if (!is_live_ || has(mark.id())) {
      return {};  // pending with the inserts
    }
    bool is_missing = false;
    erasures_.add(mark, transaction, [&](std::uint64_t hash) {
      is_missing = is_missing || !erase_live(hash);
    });
    return found_all(!is_missing);
  }

  PendingChanges<Log>& pending() { return pending_; }
  const PendingChanges<Log>& pending() const { return pending_; }
  // What is pending goes into a filter that is not the feed's yet; erasures, which all are of
  // `applied` or before, wait until the server has committed them. A sentence if they do not go
  // together.
  Done take_pending(filter::CuckooFilter& filter, typename Log::Reach applied) {
    bool is_full = false;
    bool is_missing = false;
    erasures_.begin_all(std::move(applied));
    pending_.take(
        [&](std::uint64_t hash) {
          if (erasures_.take_back(hash)) {
            is_missing = is_missing || !filter.may_contain(hash);
          } else {
            is_full = is_full || filter.insert(hash) == filter::InsertOutcome::full;
          }
        },
        [this](std::uint64_t hash) { erasures_.add_one(hash); });
    if (is_full) {
      return std::unexpected("the table has grown beyond the filter while it was read");
    }
    return found_all(!is_missing);
  }
  // From now on changes go into the feed's filter, which has all that was pending.
  void go_live() { is_live_ = true; }
  // The server has committed so much: what was erased by it is erased now. A sentence if the filter
  // and the log disagree.
  Done make_erasures(const typename Log::Committed& committed) {
    bool is_missing = false;
    erasures_.make(committed, [&](std::uint64_t hash) {
      ++changes_;
      is_missing = is_missing || !erase_live(hash);
    });
    return found_all(!is_missing);
  }
  // What was heard of that does not count any more: it may be another server's word.
  void forget_committed() { erasures_.forget_committed(); }
  // Some wait for that; more than should be kept.
  bool has_erasures() const { return !erasures_.is_empty(); }
  bool has_too_many_erasures() const { return erasures_.is_full(); }
  // The filter comes from a checkpoint, and has all that this position covers.
  void begin_behind(Position position) { since_ = std::move(position); }
  // Whether a filter that has all up to `applied` is what the rows were there.
  bool has_reached(const Position& applied) {
    if (since_ && applied.covers(*since_)) {
      since_.reset();
    }
    return !since_;
  }

  // How often the feed's filter was changed.
  std::uint64_t changes() const { return changes_; }
  // The filter still does its work, but wastes room: many rows have gone that it could not forget
  // (`deferred`), or it is nearly full. Asked after changes; no more often than tables can be read.
  bool wants_rebuild() const {
    const filter::CuckooFilter* const filter = feed_.live().writable();
    return filter != nullptr && filter->stats().rebuild_needed;
  }

 private:
  static constexpr std::size_t kInsertsAtOnce = 256;

  static Done found_all(bool is_so) {
    if (!is_so) {
      return std::unexpected("the log takes a row away that the filter does not have");
    }
    return {};
  }

  bool erase_live(std::uint64_t hash) {
    return feed_.live().erase(hash) != filter::EraseOutcome::not_found;
  }

  Done insert_live(const Transaction& transaction, const filter::CommitTimes& times) {
    std::array<std::uint64_t, kInsertsAtOnce> hashes;
    std::size_t count = 0;
    bool is_full = false;
    const auto insert_them = [&] {
      const auto rows = std::span<const std::uint64_t>(hashes).first(count);
      is_full = is_full || feed_.live().insert(rows) == filter::InsertOutcome::full;
      feed_.live().committed(rows, times);
      count = 0;
    };
    bool is_missing = false;
    transaction.for_each_insert([&](std::uint64_t hash) {
      if (erasures_.take_back(hash)) {
        is_missing = is_missing || !feed_.live().writable()->may_contain(hash);
        return;
      }
      hashes[count++] = hash;
      if (count == hashes.size()) {
        insert_them();
      }
    });
    insert_them();
    feed_.follow_growth();
    if (is_full) {
      return std::unexpected("the filter is full: it is built again, larger");
    }
    return found_all(!is_missing);
  }

  Feed& feed_;
  const Plan& plan_;
  const PositionProofs<Position, typename Log::Place>& proofs_;
  PendingChanges<Log> pending_;
  DeferredErasures<Log> erasures_;
  bool is_live_ = false;
  std::optional<Position> since_;
  std::uint64_t changes_ = 0;
  std::vector<std::size_t> condition_places_;  // in a row, as plan_.condition.columns()
};

}  // namespace cuckooguard::source
