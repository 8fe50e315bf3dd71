// Rows that a log says are gone, until they are gone for all who look.
//
// A log has a transaction before its engine commits it: by microseconds, or, while a
// semi-synchronous replica that must acknowledge it is silent, by seconds. Meanwhile everybody
// still sees the rows that it deletes. So their keys stay in the filter until the server has shown
// that it has committed:
//   MySQL     gtid_executed has the transaction: it enters it behind the engine's commit;
//   MariaDB   Binlog_snapshot_position is behind it, which moves together with the engine's
//             commits; for XA COMMIT, which does not, XA RECOVER lists none any more whose verdict
//             the log has had.
// Inserts need no such thing: a key that passes too early costs a question.
//
// Must: each erasure is made once, or is taken back by an insert of the same hash, which then is
// not made: so that a row that comes and goes does not fill its buckets with copies.
//
// Threads: under the follower's lock. Limits: is_full() beyond kHashesMax: the log has to wait; one
// transaction may go beyond. Some 60 bytes per row. In a MariaDB's file of more than 4 GiB that was
// resumed behind that, places are too low, so that nothing is waited for.
// Source: MySQL's rpl_semi_sync_source_wait_point; MariaDB's commit_ordered, of which XA COMMIT is
// no part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "mysql/followed_table.h"
#include "mysql/log_place.h"
#include "mysql/log_position.h"

namespace cuckooguard::source {

// How far a server has committed what its log has.
struct Committed {
  LogPosition position;  // MySQL
  LogPlace place;        // MariaDB
  bool has_xa = false;   // MariaDB: also every XA COMMIT up to there

  bool covers(const LogGtid& gtid, const LogPlace& end, bool is_xa_commit) const;
};

class DeferredErasures {
 public:
  static constexpr std::size_t kHashesMax = 4'000'000;

  // Calls erase(hash) where they can be made at once.
  template <class Erase>
  void add(const CommitMark& mark, const Transaction& transaction, const Erase& erase) {
    // What was heard of XA transactions before says nothing of this one; and what waits may be of
    // the same hash.
    if (committed_ && groups_.empty() && !mark.is_xa_commit &&
        committed_->covers(mark.gtid, mark.end, false)) {
      transaction.for_each_erase(erase);
      return;
    }
    groups_.push_back({.gtid = mark.gtid,
                       .end = mark.end,
                       .is_xa_commit = mark.is_xa_commit,
                       .all = {},
                       .hashes = {}});
    transaction.for_each_erase([this](std::uint64_t hash) { add_one(hash); });
    if (groups_.back().hashes.empty()) {
      groups_.pop_back();
    }
  }
  // What is added by add_one() is of many transactions, of which `all` is the position and `end`
  // the end.
  void begin_all(LogPosition all, const LogPlace& end);
  void add_one(std::uint64_t hash);
  // True: one of this hash is not made, and nothing needs to be inserted, since the filter has it
  // still.
  bool take_back(std::uint64_t hash);

  // Calls erase(hash) for all that can be made by now.
  template <class Erase>
  void make(const Committed& committed, const Erase& erase) {
    committed_ = committed;
    while (!groups_.empty() && groups_.front().is_covered_by(committed)) {
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
  bool is_empty() const { return groups_.empty(); }
  bool is_full() const { return hashes_ >= kHashesMax; }

 private:
  struct Group {
    LogGtid gtid;
    LogPlace end;
    bool is_xa_commit = false;
    std::optional<LogPosition> all;  // instead of gtid
    std::vector<std::uint64_t> hashes;

    bool is_covered_by(const Committed& committed) const;
  };
  struct Waiting {
    std::uint32_t erasures = 0;
    std::uint32_t taken_back = 0;  // of them
  };

  bool is_due(std::uint64_t hash);

  std::optional<Committed> committed_;
  std::deque<Group> groups_;  // in the log's order
  std::size_t hashes_ = 0;
  std::unordered_map<std::uint64_t, Waiting> waiting_;
};

}  // namespace cuckooguard::source
