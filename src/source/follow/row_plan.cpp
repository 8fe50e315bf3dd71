#include "follow/row_plan.h"

namespace cuckooguard::source {

std::vector<std::size_t> RowPlan::needed() const {
  std::vector<std::size_t> all;
  for (const auto* const places : {&identity, &condition_columns, &primary_key}) {
    for (const std::size_t place : *places) {
      if (std::ranges::count(all, place) == 0) {
        all.push_back(place);
      }
    }
  }
  return all;
}

bool RowPlan::is_null_only(std::size_t column) const {
  if (std::ranges::count(identity, column) > 0 || std::ranges::count(primary_key, column) > 0) {
    return false;
  }
  for (std::size_t i = 0; i < condition_columns.size(); ++i) {
    if (condition_columns[i] == column && condition.use_of(i).compares()) {
      return false;
    }
  }
  return true;
}

std::expected<void, std::string> distrusted(const RowPlan& plan,
                                            const Target& target,
                                            std::string_view quoted_table) {
  if (target.settings.filter.deletes != config::Deletes::trusted || plan.identity_is_unique) {
    return {};
  }
  return std::unexpected(
      "deletes: trusted requires that no two rows have the same key, but the key columns of "
      "table " +
      std::string(quoted_table) + " are not a NOT NULL unique key; use deletes: exact");
}

}  // namespace cuckooguard::source
