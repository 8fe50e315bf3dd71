#include "source/log_feed.h"

#include <algorithm>

namespace cuckooguard::source {

using filter::EraseOutcome;
using filter::InsertOutcome;

LogFeed::LogFeed(Feed& feed, const MysqlTable& plan) : feed_(feed), plan_(plan) {
  const std::vector<std::size_t> needed = plan.needed();
  for (const std::size_t column : plan.condition_columns) {
    condition_places_.push_back(
        static_cast<std::size_t>(std::ranges::find(needed, column) - needed.begin()));
  }
}

Feed::Intake LogFeed::load_row(RowValues values) {
  return counts(values) ? feed_.add(identity(values)) : Feed::Intake::taken;
}

std::expected<Transaction::Image, std::string> LogFeed::image(RowValues values) {
  if (!counts(values)) {
    return std::nullopt;
  }
  return feed_.hash_of(identity(values));
}

std::expected<void, std::string> LogFeed::change(const Transaction& transaction) {
  bool is_full = false;
  bool is_missing = false;
  filter::LiveFilter& live = feed_.target().live;
  transaction.apply(
      [&](std::uint64_t hash) { is_full = is_full || live.insert(hash) == InsertOutcome::full; },
      [&](std::uint64_t hash) {
        is_missing = is_missing || live.erase(hash) == EraseOutcome::not_found;
      });
  if (is_full) {
    return std::unexpected("the filter is full: it is built again, larger");
  }
  if (is_missing) {
    return std::unexpected("the log takes a row away that the filter does not have");
  }
  return {};
}

bool LogFeed::wants_rebuild() const {
  const filter::CuckooFilter* const filter = feed_.target().live.writable();
  return filter != nullptr && filter->stats().rebuild_needed;
}

}  // namespace cuckooguard::source
