#include "mysql/prepared_transactions.h"

#include <algorithm>
#include <numeric>

namespace cuckooguard::source {

std::size_t PreparedTransactions::Rows::count() const {
  return std::accumulate(
      tables.begin(), tables.end(), std::size_t{0}, [](std::size_t sum, const auto& part) {
        return sum + part.second.rows();
      });
}

bool PreparedTransactions::add(const binlog::Xid& xid, Rows rows) {
  drop(xid);
  ended_.erase(xid);
  const std::size_t count = rows.count();
  if (prepared_.size() == kCountMax || count > rows_max_ - rows_) {
    prepared_.clear();
    rows_ = 0;
    return false;
  }
  rows_ += count;
  prepared_.emplace(xid, std::move(rows));
  return true;
}

std::optional<PreparedTransactions::Rows> PreparedTransactions::end(const binlog::Xid& xid) {
  note_end(xid);
  const auto found = prepared_.find(xid);
  if (found == prepared_.end()) {
    return std::nullopt;
  }
  Rows rows = std::move(found->second);
  rows_ -= rows.count();
  prepared_.erase(found);
  return rows;
}

void PreparedTransactions::forget(const FollowedTable& table) {
  for (auto& [xid, rows] : prepared_) {
    rows_ -= rows.count();
    std::erase_if(rows.tables, [&table](const auto& part) { return part.first == &table; });
    rows_ += rows.count();
  }
}

XaState PreparedTransactions::state(const binlog::Xid& xid) const {
  if (prepared_.contains(xid)) {
    return XaState::prepared;
  }
  return ended_.contains(xid) ? XaState::ended : XaState::unknown;
}

bool PreparedTransactions::is_any_before(std::uint64_t join) const {
  return std::ranges::any_of(prepared_,
                             [join](const auto& each) { return each.second.joins < join; });
}

void PreparedTransactions::drop(const binlog::Xid& xid) {
  if (const auto found = prepared_.find(xid); found != prepared_.end()) {
    rows_ -= found->second.count();
    prepared_.erase(found);
  }
}

// Names are used again: only the last end of each counts.
void PreparedTransactions::note_end(const binlog::Xid& xid) {
  ended_.insert_or_assign(xid, ++ends_);
  ended_in_order_.push_back(xid);
  if (ended_in_order_.size() > kEndedMax) {
    const auto oldest = ended_.find(ended_in_order_.front());
    if (oldest != ended_.end() && oldest->second == ends_ - kEndedMax) {
      ended_.erase(oldest);
    }
    ended_in_order_.pop_front();
  }
}

}  // namespace cuckooguard::source
