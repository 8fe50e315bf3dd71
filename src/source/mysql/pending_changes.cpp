#include "mysql/pending_changes.h"

namespace cuckooguard::source {

bool PendingChanges::add(const CommitMark& mark, const Transaction& transaction) {
  if (view_) {
    return place(mark, transaction);
  }
  Undecided& added = undecided_.emplace_back(Undecided{.gtid = mark.gtid,
                                                       .end = mark.end,
                                                       .is_xa_commit = mark.is_xa_commit,
                                                       .transaction = transaction});
  added.transaction.seal();
  undecided_bytes_ += sizeof(Undecided) + added.transaction.bytes();
  return undecided_bytes_ <= kUndecidedBytesMax;
}

bool PendingChanges::view_is(const ReadView& view) {
  view_ = view;
  bool is_good = true;
  for (const Undecided& each : undecided_) {
    is_good =
        is_good && place({.gtid = each.gtid, .end = each.end, .is_xa_commit = each.is_xa_commit},
                         each.transaction);
  }
  std::deque<Undecided>().swap(undecided_);
  return is_good;
}

bool PendingChanges::place(const CommitMark& mark, const Transaction& transaction) {
  if (!view_) {
    return false;
  }
  if (view_->covered.covers(mark.gtid)) {
    return is_closed_ || place_covered(mark, transaction);
  }
  const std::optional<LogPlace>& window_end = view_->window_end;
  if (!is_closed_ && window_end && mark.end <= *window_end) {
    return place_in_window(transaction);
  }
  transaction.for_each_insert([&](std::uint64_t hash) { change(hash, true); });
  transaction.for_each_erase([&](std::uint64_t hash) { change(hash, false); });
  return true;
}

void PendingChanges::change(std::uint64_t hash, bool is_insert) {
  hashes_.push_back(hash);
  is_insert_.push_back(is_insert);
}

bool PendingChanges::place_in_window(const Transaction& transaction) {
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
bool PendingChanges::place_covered(const CommitMark& mark, const Transaction& transaction) {
  if (mark.is_xa_commit && view_ && !view_->window_end) {
    return place_in_window(transaction);
  }
  if (!window_.empty()) {
    transaction.for_each([this](const RowName& row, const Transaction::Image& after) {
      if (const auto settled = window_.find(row); settled != window_.end()) {
        settled->second = after;
      }
    });
  }
  return true;
}

}  // namespace cuckooguard::source
