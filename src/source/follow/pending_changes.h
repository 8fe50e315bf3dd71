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
// added (tests/source/mysql/pending_changes_test.cpp, integration/exactness).
//
// Threads: one at a time, but is_settled(), which after settle() may run beside add(). Errors:
// add() is false beyond kUndecidedBytesMax without a view, and beyond kWindowRowsMax in the window:
// the load has failed. is_full(): nothing is lost, but the log has to wait for the load's end.
// Limits: those three; some 1.2 KiB per transaction of a few rows until there is a view, 40 bytes
// per row of a large one, 72 per row of the window, 9 per change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "follow/log.h"
#include "source/transaction.h"

namespace cuckooguard::source {

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

}  // namespace cuckooguard::source
