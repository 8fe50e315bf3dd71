#include <algorithm>

#include "config/table_pattern.h"
#include "follow/table_set_state.h"

namespace cuckooguard::source {

PatternedTables::PatternedTables(std::span<const Target> targets) {
  for (const Target& target : targets) {
    if (std::ranges::any_of(target.settings.source.tables, config::is_table_pattern)) {
      targets_.push_back(target);
    }
  }
}

void PatternedTables::begin_doubt() {
  ++doubts_;
  for (const Target& target : targets_) {
    target.parts.set_complete(false);
  }
}

std::optional<std::uint64_t> PatternedTables::doubt() const {
  return targets_.empty() || listed_ == doubts_ ? std::nullopt : std::optional(doubts_);
}

bool PatternedTables::settle(std::uint64_t doubt) {
  if (doubts_ != doubt) {
    return false;
  }
  listed_ = doubt;
  due_at_ = {};
  backoff_.succeeded();
  return true;
}

bool PatternedTables::matches(const Target& target, std::string_view table) {
  return config::matches_any_table(target.settings.source.tables, table, config::NameCase::exact);
}

}  // namespace cuckooguard::source
