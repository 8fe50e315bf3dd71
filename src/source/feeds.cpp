#include "source/feeds.h"

#include <algorithm>

#include "config/table_pattern.h"

namespace cuckooguard::source {

using filter::State;

Feeds::Feeds(std::span<const Target> targets,
             Observer& observer,
             const Clock& clock,
             std::chrono::nanoseconds max_lag)
    : targets_(targets.begin(), targets.end()),
      reported_(targets.size()),
      observer_(&observer),
      clock_(clock),
      max_lag_(max_lag) {
  for (const Target& target : targets_) {
    std::vector<std::string> named = target.settings.source.tables;
    const bool has_patterns = std::erase_if(named, config::is_table_pattern) > 0;
    if (named.empty() && !has_patterns) {  // a file
      named.emplace_back();
    }
    if (!named.empty()) {
      set_tables(target, named);
    }
    if (has_patterns) {
      target.parts.set_complete(false);
    }
  }
}

void Feeds::snapshot_begins(TimePoint now) {
  snapshot_at_ = now;
  for (Feed& feed : feeds_) {
    feed.snapshot_begins(now);
  }
}

bool Feeds::has(const Target& target, const std::string& table) const {
  return std::ranges::any_of(feeds_, [&](const Feed& feed) {
    return feed.target().ns == target.ns && feed.table() == table;
  });
}

bool Feeds::add(const Target& target, const std::string& table) {
  filter::LiveFilter* const live = target.parts.add(table);
  if (live == nullptr) {
    return false;
  }
  feeds_.emplace_back(target, *live, table, *observer_, clock_, max_lag_);
  feeds_.back().snapshot_begins(snapshot_at_);
  return true;
}

// In between, a table that was renamed is under neither name.
void Feeds::set_tables(const Target& target, std::span<const std::string> tables) {
  target.parts.set_complete(false);
  feeds_.remove_if([&](const Feed& feed) {
    const bool is_gone =
        feed.target().ns == target.ns && std::ranges::find(tables, feed.table()) == tables.end();
    if (is_gone) {
      target.parts.remove(feed.table());
    }
    return is_gone;
  });
  bool are_all_in = true;
  for (const std::string& table : tables) {
    are_all_in = are_all_in && (has(target, table) || add(target, table));
  }
  target.parts.set_complete(are_all_in);
  target.parts.reclaim();
  std::string why;
  if (!are_all_in) {
    why = "there are " + std::to_string(tables.size()) + " tables, more than " +
          std::to_string(filter::LiveParts::kPartsMax);
  } else if (tables.empty()) {
    why = "no table matches yet";
  }
  report(target, why);
}

void Feeds::report(const Target& target, const std::string& why, State state) {
  const auto at = std::ranges::find(targets_, target.ns, &Target::ns) - targets_.begin();
  std::string& reported = reported_[static_cast<std::size_t>(at)];
  if (reported != why) {
    reported = why;
    const State now = why.empty() ? State::loading : state;
    target.parts.set_state_without_tables(now, why);
    observer_->on_state(target.settings.name, now, why.empty() ? "its tables are known now" : why);
  }
}

}  // namespace cuckooguard::source
