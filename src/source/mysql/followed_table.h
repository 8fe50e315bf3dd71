// One table of a binary log on its way into a filter: rows of events become changes of identities.
//
//   map(TABLE_MAP) ─▶ rows(WRITE|UPDATE|DELETE) … ─▶ commit_inserts(), commit_erases() ─▶ filter
//                                                └─▶ roll_back(), park()
//
// What a row is to the filter is the namespace's to say (RowTarget): its values, as text, give an
// identity's hash, or nothing if a value is NULL.
//
// Threads: the source's. Lifetimes: the plan and the target outlive it. Errors: a sentence, after
// which the table is not to be trusted: the log was not understood, and the table must be read
// again.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "binlog/rows.h"
#include "binlog/table_layout.h"
#include "filter/key_hash.h"
#include "mysql/log_place.h"
#include "mysql/log_position.h"
#include "mysql/table.h"
#include "source/transaction.h"

namespace cuckooguard::source {

using RowValues = std::span<const std::optional<std::string_view>>;

// The transaction that a change is part of, and where it ends.
struct CommitMark {
  const LogGtid& gtid;
  const LogPlace& end;
  bool is_xa_commit =
      false;  // of what was prepared before: read_view.h says what is special about it
};

class RowTarget {
 public:
  RowTarget() = default;
  RowTarget(const RowTarget&) = delete;
  RowTarget& operator=(const RowTarget&) = delete;
  virtual ~RowTarget() = default;

  // `values` in the order of MysqlTable::needed(). A sentence if the row cannot be guarded rightly.
  virtual std::expected<Transaction::Image, std::string> image(RowValues values) = 0;
  // It has all of this transaction from before: from a checkpoint, say.
  virtual bool has(const LogGtid&) const { return false; }
  // Of one transaction: all tables' inserts, then all tables' erases, so that no look-up sees a row
  // gone that has only moved to another table. A sentence if the filter and the log disagree.
  virtual std::expected<void, std::string> insert(const CommitMark& mark,
                                                  const Transaction& transaction) = 0;
  virtual std::expected<void, std::string> erase(const CommitMark& mark,
                                                 const Transaction& transaction) = 0;
};

class FollowedTable {
 public:
  static constexpr std::size_t kTransactionRowsMax = 8'000'000;

  FollowedTable(const MysqlTable& plan, RowTarget& target);

  const MysqlTable& plan() const { return *plan_; }
  bool is(std::string_view schema, std::string_view table) const {
    return plan_->schema == schema && plan_->name == table;
  }

  std::expected<void, std::string> map(const binlog::TableMap& map, bool is_mariadb);
  std::expected<void, std::string> rows(const binlog::Rows& rows);

  bool is_touched() const { return transaction_.rows() > 0; }
  std::expected<void, std::string> commit_inserts(const CommitMark& mark) {
    return target_->insert(mark, transaction_);
  }
  std::expected<void, std::string> commit_erases(const CommitMark& mark);  // and it is over
  void roll_back() { transaction_.clear(); }
  // For a transaction whose verdict comes later: its rows, for target() then.
  Transaction park();
  RowTarget& target() const { return *target_; }

  // What a row that a snapshot gives is called here; its values in the order of
  // MysqlTable::needed(). Any thread.
  RowName name_of(RowValues values) const;

 private:
  std::expected<void, std::string> check(const binlog::TableLayout& layout) const;
  std::expected<Transaction::Image, std::string> image(bool is_after);
  RowName name(bool is_after);
  RowName name_of_key(std::string_view key) const;
  std::expected<void, std::string> add_row(binlog::RowsKind kind);

  const MysqlTable* plan_;
  RowTarget* target_;
  std::vector<std::size_t> needed_;
  std::vector<std::size_t> key_places_;  // of the primary key, in needed_
  filter::KeyHash name_low_;
  filter::KeyHash name_high_;
  std::optional<binlog::TableLayout> layout_;
  std::unique_ptr<binlog::RowReader> reader_;
  Transaction transaction_{kTransactionRowsMax};
  std::vector<std::optional<std::string_view>> values_;
  std::string key_;
};

}  // namespace cuckooguard::source
