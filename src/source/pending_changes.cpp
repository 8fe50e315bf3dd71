#include "source/pending_changes.h"

namespace cuckooguard::source {

bool PendingChanges::add(const CommitMark& mark, const Transaction& transaction) {
  if (view_) {
    return place(mark, transaction);
  }
  undecided_rows_ += transaction.rows();
  if (undecided_rows_ > kUndecidedRowsMax) {
    return false;
  }
  undecided_.push_back({.gtid = mark.gtid, .end = mark.end, .transaction = transaction});
  return true;
}

bool PendingChanges::view_is(const ReadView& view) {
  view_ = view;
  bool is_good = true;
  for (const Undecided& each : undecided_) {
    is_good = is_good && place({.gtid = each.gtid, .end = each.end}, each.transaction);
  }
  std::vector<Undecided>().swap(undecided_);
  return is_good;
}

bool PendingChanges::place(const CommitMark& mark, const Transaction& transaction) {
  if (view_->covered.covers(mark.gtid)) {
    return true;
  }
  if (!is_closed_ && view_->window_end && mark.end <= *view_->window_end) {
    transaction.for_each([this](const RowName& row, const Transaction::Image& after) {
      window_.insert_or_assign(row, after);
    });
    return window_.size() <= kUndecidedRowsMax;
  }
  const auto change = [this](std::uint64_t hash, bool is_insert) {
    hashes_.push_back(hash);
    is_insert_.push_back(is_insert);
  };
  transaction.for_each_insert([&](std::uint64_t hash) { change(hash, true); });
  transaction.for_each_erase([&](std::uint64_t hash) { change(hash, false); });
  return true;
}

}  // namespace cuckooguard::source
