// One table of a log on its way into a filter: changes of rows become changes of identities.
//
//   change(before, after) … ─▶ commit_inserts(), commit_erases() ─▶ filter
//                         └─▶ roll_back(), park()
//
// What a row is to the filter is the namespace's to say (RowTarget): its values, as text, give an
// identity's hash, or nothing if a value is NULL.
//
// Threads: the source's. Lifetimes: the plan and the target outlive it. Errors: a sentence, after
// which the table is not to be trusted: the log was not understood, and the table must be read
// again.
#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/core/noncopyable.hpp>

#include "filter/key_hash.h"
#include "follow/log.h"
#include "source/transaction.h"
#include "text/little_endian.h"

namespace cuckooguard::source {

template <class Log>
class RowTarget : boost::noncopyable {
 public:
  virtual ~RowTarget() = default;

  // A sentence if the row cannot be guarded rightly.
  virtual std::expected<Transaction::Image, std::string> image(RowValues values) = 0;
  // It has all of this transaction from before: from a checkpoint, say.
  virtual bool has(const typename Log::Id&) const { return false; }
  // Of one transaction: all tables' inserts, then all tables' erases, so that no look-up sees a row
  // gone that has only moved to another table. A sentence if the filter and the log disagree.
  virtual std::expected<void, std::string> insert(const typename Log::Mark& mark,
                                                  const Transaction& transaction) = 0;
  virtual std::expected<void, std::string> erase(const typename Log::Mark& mark,
                                                 const Transaction& transaction) = 0;
};

template <class Log>
class TableChanges {
 public:
  using Plan = typename Log::Plan;
  using Mark = typename Log::Mark;
  using Done = std::expected<void, std::string>;

  static constexpr std::size_t kTransactionRowsMax = 8'000'000;

  TableChanges(const Plan& plan, RowTarget<Log>& target)
      : plan_(&plan),
        target_(&target),
        needed_(plan.needed()),
        key_places_(places_in(needed_, plan.primary_key)),
        name_low_(filter::random_secret()),
        name_high_(filter::random_secret()) {}

  const Plan& plan() const { return *plan_; }
  RowTarget<Log>& target() const { return *target_; }
  // Columns of the plan, in the order of a row's values.
  const std::vector<std::size_t>& needed() const { return needed_; }

  // A row as it was and as it is; neither, one or both.
  Done change(std::optional<RowValues> before, std::optional<RowValues> after) {
    std::expected<Transaction::Image, std::string> was{std::nullopt};
    std::expected<Transaction::Image, std::string> is{std::nullopt};
    if (before) {
      was = target_->image(*before);
    }
    if (was && after) {
      is = target_->image(*after);
    }
    if (!was || !is) {
      return std::unexpected(was ? is.error() : was.error());
    }
    if (!add(before, after, *was, *is)) {
      return std::unexpected(
          "a transaction changes rows of table `" + plan_->name +
          "` that differ from the log's last version of them, or changes more rows than " +
          std::to_string(kTransactionRowsMax));
    }
    return {};
  }

  bool is_touched() const { return transaction_.rows() > 0; }
  Done commit_inserts(const Mark& mark) { return target_->insert(mark, transaction_); }
  Done commit_erases(const Mark& mark) {  // and it is over
    auto erased = target_->erase(mark, transaction_);
    transaction_.clear();
    return erased;
  }
  void roll_back() { transaction_.clear(); }
  // For a transaction whose verdict comes later: its rows, for target() then.
  Transaction park() {
    transaction_.seal();
    return std::exchange(transaction_, Transaction(kTransactionRowsMax));
  }

  // What a row that a snapshot gives is called here. Any thread.
  RowName name_of(RowValues values) const {
    std::string key;
    for (const std::size_t place : key_places_) {
      text::put_text(key, values[place].value_or(std::string_view()));
    }
    return {.low = name_low_(key), .high = name_high_(key)};
  }

 private:
  bool add(std::optional<RowValues> before,
           std::optional<RowValues> after,
           const Transaction::Image& was,
           const Transaction::Image& is) {
    if (!before || !after) {
      return (!before && !after) || transaction_.add(name_of(before ? *before : *after), was, is);
    }
    const RowName from = name_of(*before);
    const RowName to = name_of(*after);
    if (from != to) {
      return transaction_.add(from, was, std::nullopt) && transaction_.add(to, std::nullopt, is);
    }
    return was == is || transaction_.add(from, was, is);  // or other columns have changed
  }

  const Plan* plan_;
  RowTarget<Log>* target_;
  std::vector<std::size_t> needed_;
  std::vector<std::size_t> key_places_;  // of the primary key, in needed_
  filter::KeyHash name_low_;
  filter::KeyHash name_high_;
  Transaction transaction_{kTransactionRowsMax};
};

}  // namespace cuckooguard::source
