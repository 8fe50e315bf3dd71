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
#include <deque>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "filter/cuckoo_filter.h"
#include "follow/log.h"
#include "follow/position_proofs.h"
#include "follow/table_changes.h"
#include "source/feeds.h"
#include "source/transaction.h"

namespace cuckooguard::source {

// What a log says of a table while its snapshot is being read, and how both become one.
//
//   add(transaction) … ─▶ view_is(view) ─▶ add … ─▶ settle() ─▶ rows of the snapshot, but those it
//                                                               is_settled for ─▶ take()
//
// What the view shows of a transaction (Log::View::shows) is one of three things:
//   visible:  its rows are in the snapshot; nothing to be done.
//   perhaps:  the snapshot may have it or not: it is in the window around the view. Of the rows
//             that it touches the last one's word counts: the snapshot's are left out, and those
//             that are there in the end are inserted.
//   not_yet:  not in the snapshot: inserted and erased after it, in the log's order.
// Must: snapshot and changes together are exactly the rows behind the last transaction that was
// added (tests/source/follow/pending_changes_test.cpp, integration/exactness).
//
// Threads: one at a time, but is_settled(), which after settle() may run beside add(). Errors:
// add() is false beyond kUndecidedBytesMax without a view, and beyond kWindowRowsMax in the window:
// the load has failed. is_full(): nothing is lost, but the log has to wait for the load's end.
// Limits: those three; some 1.2 KiB per transaction of a few rows until there is a view, 40 bytes
// per row of a large one, 72 per row of the window, 9 per change.
template <class Log>
class PendingChanges {
 public:
  using Mark = typename Log::Mark;
  using View = typename Log::View;

  static constexpr std::size_t kUndecidedBytesMax = std::size_t{128} << 20U;
  static constexpr std::size_t kWindowRowsMax = 1'000'000;
  static constexpr std::size_t kChangesMax = 8'000'000;

  [[nodiscard]] bool add(const Mark& mark, const Transaction& transaction) {
    if (view_) {
      return place(*view_, mark, transaction);
    }
    Undecided& added = undecided_.emplace_back(Undecided{mark, transaction});
    added.transaction.seal();
    undecided_bytes_ += sizeof(Undecided) + added.transaction.bytes();
    return undecided_bytes_ <= kUndecidedBytesMax;
  }
  [[nodiscard]] bool view_is(const View& view) {
    view_ = view;
    bool is_good = true;
    for (const Undecided& each : undecided_) {
      is_good = is_good && place(view, each.mark, each.transaction);
    }
    std::deque<Undecided>().swap(undecided_);
    return is_good;
  }
  // The log has been read to the window's end: no more rows will be undecided.
  void settle() { is_closed_ = true; }
  // After settle(): the snapshot's word on this row does not count.
  bool is_settled(const RowName& row) const { return window_.contains(row); }
  bool has_settled() const { return !window_.empty(); }

  bool is_full() const { return hashes_.size() >= kChangesMax; }

  // Those of the window's rows that are there, then all changes, in order.
  template <class Insert, class Erase>
  void take(const Insert& insert, const Erase& erase) {
    for (const auto& [row, image] : window_) {
      if (image) {
        insert(*image);
      }
    }
    for (std::size_t i = 0; i < hashes_.size(); ++i) {
      if (is_insert_[i]) {
        insert(hashes_[i]);
      } else {
        erase(hashes_[i]);
      }
    }
    *this = PendingChanges();
  }

 private:
  struct Undecided {
    Mark mark;
    Transaction transaction;
  };
  struct RowHasher {
    std::size_t operator()(const RowName& row) const { return row.low; }
  };

  bool place(const View& view, const Mark& mark, const Transaction& transaction) {
    const Visibility visibility = view.shows(mark);
    if (visibility == Visibility::visible) {
      note_last_word(transaction);
      return true;
    }
    if (visibility == Visibility::perhaps && !is_closed_) {
      return place_in_window(transaction);
    }
    transaction.for_each_insert([&](std::uint64_t hash) { change(hash, true); });
    transaction.for_each_erase([&](std::uint64_t hash) { change(hash, false); });
    return true;
  }

  bool place_in_window(const Transaction& transaction) {
    transaction.for_each([this](const RowName& row, const Transaction::Image& after) {
      window_.insert_or_assign(row, after);
    });
    // What it deletes may be visible still: it is there, and goes like what is deleted behind the
    // window.
    transaction.for_each_erase([this](std::uint64_t hash) {
      change(hash, true);
      change(hash, false);
    });
    return window_.size() <= kWindowRowsMax;
  }

  // It is visible; what was settled of its rows before is not the last word any more.
  void note_last_word(const Transaction& transaction) {
    if (window_.empty() || is_closed_) {
      return;
    }
    transaction.for_each([this](const RowName& row, const Transaction::Image& after) {
      if (const auto settled = window_.find(row); settled != window_.end()) {
        settled->second = after;
      }
    });
  }

  void change(std::uint64_t hash, bool is_insert) {
    hashes_.push_back(hash);
    is_insert_.push_back(is_insert);
  }

  std::deque<Undecided> undecided_;
  std::size_t undecided_bytes_ = 0;
  std::optional<View> view_;
  bool is_closed_ = false;
  std::unordered_map<RowName, Transaction::Image, RowHasher> window_;
  std::vector<std::uint64_t> hashes_;
  std::vector<bool> is_insert_;
};

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
  // Calls take(hash) for each that will be made, as it stands.
  template <class Take>
  void for_each(const Take& take) const {
    for (const auto& [hash, waiting] : waiting_) {
      for (std::uint32_t i = waiting.taken_back; i < waiting.erasures; ++i) {
        take(hash);
      }
    }
  }
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
        definition_(Log::definition_hash(feed.target(), plan)),
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
        return std::unexpected("too many rows changed while the snapshot was being opened");
      }
      return {};
    }
    if (has(mark.id())) {
      feed_.published().anew(definition_);  // from where it is known, all changes are told
      return {};
    }
    ++changes_;
    return insert_live(transaction, proofs_.commit_times(mark.id()));
  }
  Done erase(const Mark& mark, const Transaction& transaction) override {
    if (!is_live_ || has(mark.id())) {
      return {};  // pending with the inserts
    }
    transaction.for_each_erase([this](std::uint64_t hash) { feed_.published().deleted(hash); });
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
      return std::unexpected("the table outgrew the filter while it was being read");
    }
    return found_all(!is_missing);
  }
  // From now on changes go into the feed's filter, which has all that was pending.
  void go_live() {
    is_live_ = true;
    feed_.published().anew(definition_);
    erasures_.for_each([this](std::uint64_t hash) { feed_.published().deleted(hash); });
  }
  // Instead, in place of a feed with the same rows (goes_on()): who is told of them goes on, with
  // what waits here to be erased instead of what waited there.
  void go_live_instead_of(const LogFeed& before) {
    is_live_ = true;
    const PublishedTable& published = feed_.published();
    erasures_.for_each([&published](std::uint64_t hash) {
      published.inserted({&hash, 1});
      published.deleted(hash);
    });
    before.erasures_.for_each([&published](std::uint64_t hash) { published.erased(hash); });
    published.rebuilt();
  }
  // Whether `next` with its filter has the same rows as this with `filter`, but for those that wait
  // to be erased, and all changes of these were told until now.
  bool goes_on(const filter::CuckooFilter& filter,
               const LogFeed& next,
               const filter::CuckooFilter& next_filter) const {
    return is_live_ && !since_ && settled(filter) == next.settled(next_filter);
  }
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
      return std::unexpected("the log deletes a row that the filter does not contain");
    }
    return {};
  }

  filter::Digest settled(const filter::CuckooFilter& filter) const {
    filter::Digest digest = filter.digest();
    erasures_.for_each([&digest](std::uint64_t hash) { digest.remove(hash); });
    return digest;
  }

  bool erase_live(std::uint64_t hash) {
    feed_.published().erased(hash);
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
      feed_.published().inserted(rows);
      count = 0;
    };
    bool is_missing = false;
    transaction.for_each_insert([&](std::uint64_t hash) {
      if (erasures_.take_back(hash)) {
        is_missing = is_missing || !feed_.live().writable()->may_contain(hash);
        feed_.published().inserted({&hash, 1});
        feed_.published().erased(hash);
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
      return std::unexpected("the filter is full: rebuilding it with more room");
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
  std::uint64_t definition_;                   // of the rows
  std::vector<std::size_t> condition_places_;  // in a row, as plan_.condition.columns()
};

}  // namespace cuckooguard::source
