#include "mysql/joined_tables.h"

#include <algorithm>

namespace cuckooguard::source {

void JoinedTables::admit() {
  tables_.insert(tables_.end(), joining_.begin(), joining_.end());
  for (const FollowedTable* const table : joining_) {
    joined_at_[table] = ++joins_;
  }
  joining_.clear();
}

void JoinedTables::leave(FollowedTable& table) {
  std::erase(tables_, &table);
  std::erase(joining_, &table);
  std::erase(waiting_, &table);
  joined_at_.erase(&table);
}

std::uint64_t JoinedTables::join_of(const FollowedTable& table) const {
  const auto found = joined_at_.find(&table);
  return found == joined_at_.end() ? 0 : found->second;
}

bool JoinedTables::is_waiting(const FollowedTable& table) const {
  return std::ranges::find(waiting_, &table) != waiting_.end();
}

}  // namespace cuckooguard::source
