#include <algorithm>
#include <ranges>

#include "mysql/table_set.h"

namespace cuckooguard::source {

// --- which tables there are ---

std::optional<std::uint64_t> TableSet::doubt() {
  const std::scoped_lock lock(mutex_);
  return patterned_.doubt();
}

bool TableSet::is_listing_due() {
  const std::scoped_lock lock(mutex_);
  return patterned_.is_due(clock_());
}

void TableSet::listing_failed(std::string_view why, bool is_refused) {
  const std::scoped_lock lock(mutex_);
  if (!patterned_.doubt()) {
    return;
  }
  patterned_.failed(clock_());
  report_patterned(is_refused ? filter::State::refused : filter::State::unsynced,
                   "its tables cannot be listed: " + std::string(why));
}

std::vector<std::string> TableSet::missing_from(
    const std::vector<std::vector<std::string>>& tables) {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> missing;
  for (std::size_t i = 0; i < patterned_.targets().size(); ++i) {
    for (const TablePlace& followed : there()) {
      if (followed.feed->target().ns == patterned_.targets()[i].ns &&
          std::ranges::find(tables[i], followed.feed->table()) == tables[i].end()) {
        missing.push_back(followed.feed->table());
      }
    }
  }
  return missing;
}

bool TableSet::set_tables(std::uint64_t doubt,
                          const std::vector<std::vector<std::string>>& tables) {
  Lock lock(mutex_);
  wait_for_pauses(lock);
  if (patterned_.doubt() != doubt) {
    return false;
  }
  for (std::size_t i = 0; i < patterned_.targets().size(); ++i) {
    const Target& target = patterned_.targets()[i];
    for (TablePlace& followed : there()) {
      if (followed.feed->target().ns == target.ns &&
          std::ranges::find(tables[i], followed.feed->table()) == tables[i].end()) {
        drop(followed.current);
        drop(followed.next);
        followed = TablePlace{nullptr, followed.loads};
      }
    }
    feeds_.set_tables(target, tables[i]);
  }
  for (Feed& feed : feeds_) {
    if (std::ranges::find(tables_, &feed, &TablePlace::feed) == tables_.end()) {
      const auto place = std::ranges::find(tables_, static_cast<Feed*>(nullptr), &TablePlace::feed);
      if (place == tables_.end()) {
        tables_.emplace_back(&feed);
      } else {
        *place = TablePlace{&feed, place->loads};
      }
    }
  }
  return patterned_.settle(doubt);
}

bool TableSet::is_gone(Index index) {
  const std::scoped_lock lock(mutex_);
  return tables_[index].feed == nullptr;
}

// A table whose definition was not logged, or that we were not shown.
void TableSet::see_table(std::string_view schema, std::string_view table) {
  if (schema != schema_ || patterned_.doubt()) {
    return;
  }
  const bool is_news = std::ranges::any_of(patterned_.targets(), [&](const Target& target) {
    return PatternedTables::matches(target, table) &&
           std::ranges::none_of(there(), [&](const TablePlace& followed) {
             return followed.feed->target().ns == target.ns && followed.feed->table() == table;
           });
  });
  if (is_news) {
    patterned_.begin_doubt();
  }
}

}  // namespace cuckooguard::source
