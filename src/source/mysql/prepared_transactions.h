// XA transactions of a log, between their XA PREPARE and their verdict, by name; and the names of
// those whose verdict was read a short while ago.
//
//   add(xid, rows) ─▶ end(xid): rows, to be applied or dropped ─▶ state(xid) is `ended`, until it
//                     is prepared again
//
// Why the ended ones matter: MariaDB logs XA COMMIT before its engine has done it (read_view.h).
//
// Threads: the source's, under the follower's lock. Lifetimes: a table is forgotten (forget())
// before it ends. Errors: add() is false beyond a limit, and then none is kept any more: all tables
// must be read again, and once more at the verdict of each. Limits: kCountMax transactions and
// kRowsMax rows in all, some 42 bytes each; kEndedMax names of ended ones, the oldest of which is
// forgotten.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "binlog/xid.h"
#include "mysql/followed_table.h"
#include "source/transaction.h"

namespace cuckooguard::source {

// As far as a log has been read.
enum class XaState : std::uint8_t {
  unknown,   // its PREPARE was not read
  prepared,  // and has no verdict yet
  ended,     // its verdict was read
};

class PreparedTransactions {
 public:
  static constexpr std::size_t kCountMax = 1000;
  static constexpr std::size_t kRowsMax = 8'000'000;
  static constexpr std::size_t kEndedMax = 10'000;

  struct Rows {
    std::vector<std::pair<FollowedTable*, Transaction>> tables;
    std::uint64_t joins = 0;  // of tables, before it: those later do not know its rows

    std::size_t count() const;
  };

  explicit PreparedTransactions(std::size_t rows_max = kRowsMax) : rows_max_(rows_max) {}

  [[nodiscard]] bool add(const binlog::Xid& xid, Rows rows);
  // Its verdict has come. Nothing: its rows are not known.
  std::optional<Rows> end(const binlog::Xid& xid);
  void forget(const FollowedTable& table);

  bool is_empty() const { return prepared_.empty(); }
  XaState state(const binlog::Xid& xid) const;
  // One whose rows a table does not know that joined as this one.
  bool is_any_before(std::uint64_t join) const;

 private:
  void drop(const binlog::Xid& xid);
  void note_end(const binlog::Xid& xid);

  std::size_t rows_max_;
  std::size_t rows_ = 0;
  std::map<binlog::Xid, Rows> prepared_;
  std::uint64_t ends_ = 0;
  std::map<binlog::Xid, std::uint64_t> ended_;  // which end it was
  std::deque<binlog::Xid> ended_in_order_;      // up to the last one
};

}  // namespace cuckooguard::source
