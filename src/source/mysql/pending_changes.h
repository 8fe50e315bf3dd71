// What a log says of a table while its snapshot is being read, and how both become one.
//
//   add(transaction) … ─▶ view_is(view) ─▶ add … ─▶ settle() ─▶ rows of the snapshot, but those it
//                                                               is_settled for ─▶ take()
//
// Each transaction stands in one of three places to the view (read_view.h):
//   covered by it:      its rows are in the snapshot; nothing to be done. But of MariaDB's XA
//                       COMMIT they may not be: as if it were in the window.
//   in the window:      the snapshot may have it or not. Of the rows that it touches the last one's
//                       word counts: the snapshot's are left out, and those that are there in the
//                       end are inserted.
//   behind the window:  not in the snapshot: inserted and erased after it, in the log's order.
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

#include "mysql/followed_table.h"
#include "mysql/read_view.h"
#include "source/transaction.h"

namespace cuckooguard::source {

class PendingChanges {
 public:
  static constexpr std::size_t kUndecidedBytesMax = std::size_t{128} << 20U;
  static constexpr std::size_t kWindowRowsMax = 1'000'000;
  static constexpr std::size_t kChangesMax = 8'000'000;

  [[nodiscard]] bool add(const CommitMark& mark, const Transaction& transaction);
  [[nodiscard]] bool view_is(const ReadView& view);
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
    LogGtid gtid;
    LogPlace end;
    bool is_xa_commit;
    Transaction transaction;
  };
  struct RowHasher {
    std::size_t operator()(const RowName& row) const { return row.low; }
  };

  void change(std::uint64_t hash, bool is_insert);
  bool place(const CommitMark& mark, const Transaction& transaction);
  bool place_covered(const CommitMark& mark, const Transaction& transaction);
  bool place_in_window(const Transaction& transaction);

  std::deque<Undecided> undecided_;
  std::size_t undecided_bytes_ = 0;
  std::optional<ReadView> view_;
  bool is_closed_ = false;
  std::unordered_map<RowName, Transaction::Image, RowHasher> window_;
  std::vector<std::uint64_t> hashes_;
  std::vector<bool> is_insert_;
};

}  // namespace cuckooguard::source
