// A set of tables, for whoever asks the server which tables there are; while no loader reads.
//
// Threads: the source's and a loader's. Errors: values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "follow/table_set_state.h"

namespace cuckooguard::source {

template <class Log>
class TableSetListing {
 public:
  // Of each namespace whose tables are given by patterns, in their order.
  using Tables = std::vector<std::vector<std::string>>;

  explicit TableSetListing(TableSetState<Log>& state) : state_(state) {}

  // The namespaces whose tables are given by patterns.
  std::vector<Target> patterned() const { return state_.patterned.targets(); }
  // There is doubt, and it is time to ask (again).
  bool is_due() const {
    const std::scoped_lock lock(state_.mutex);
    return state_.patterned.is_due(state_.clock());
  }
  // Their tables are not known, or may not be those any more; all of their keys pass. What it gives
  // goes back with the answer to a question asked later.
  std::optional<std::uint64_t> doubt() const {
    const std::scoped_lock lock(state_.mutex);
    return state_.patterned.doubt();
  }
  // `is_refused`: somebody must mend something.
  void fail(std::string_view why, bool is_refused);
  // Those that are followed, and that this list lacks: while a definition is being carried out a
  // server may not list its table.
  std::vector<std::string> missing_from(const Tables& tables);
  // False: there is new doubt, ask again. New tables are due.
  bool set(std::uint64_t doubt, const Tables& tables);
  // Of the tables that patterns find the server has just now those of which `has(name)` holds: if
  // one that is followed has gone there is doubt, also if nobody could read it.
  template <class Has>
  void see_all(const Has& has);
  bool is_gone(TableIndex index) const {
    const std::scoped_lock lock(state_.mutex);
    return state_.tables[index].feed == nullptr;
  }

 private:
  using State = TableSetState<Log>;
  using Place = TablePlace<Log>;

  State& state_;
};

template <class Log>
void TableSetListing<Log>::fail(std::string_view why, bool is_refused) {
  const std::scoped_lock lock(state_.mutex);
  if (!state_.patterned.doubt()) {
    return;
  }
  state_.patterned.failed(state_.clock());
  state_.report_patterned(is_refused ? filter::State::refused : filter::State::unsynced,
                          "its tables cannot be listed: " + std::string(why));
}

template <class Log>
std::vector<std::string> TableSetListing<Log>::missing_from(const Tables& tables) {
  const std::scoped_lock lock(state_.mutex);
  std::vector<std::string> missing;
  for (std::size_t i = 0; i < state_.patterned.targets().size(); ++i) {
    for (const Place& followed : state_.there()) {
      if (followed.feed->target().ns == state_.patterned.targets()[i].ns &&
          std::ranges::find(tables[i], followed.feed->table()) == tables[i].end()) {
        missing.push_back(followed.feed->table());
      }
    }
  }
  return missing;
}

template <class Log>
template <class Has>
void TableSetListing<Log>::see_all(const Has& has) {
  const std::scoped_lock lock(state_.mutex);
  if (state_.patterned.doubt()) {
    return;
  }
  const bool has_gone = std::ranges::any_of(state_.patterned.targets(), [&](const Target& target) {
    const auto& named = target.settings.source.tables;
    return std::ranges::any_of(state_.there(), [&](const Place& followed) {
      const std::string& table = followed.feed->table();
      return followed.feed->target().ns == target.ns && !has(table) &&
             std::ranges::find(named, table) == named.end();
    });
  });
  if (has_gone) {
    state_.patterned.begin_doubt();
  }
}

template <class Log>
bool TableSetListing<Log>::set(std::uint64_t doubt, const Tables& tables) {
  typename State::Lock lock(state_.mutex);
  state_.wait_for_pauses(lock);
  if (state_.patterned.doubt() != doubt) {
    return false;
  }
  for (std::size_t i = 0; i < state_.patterned.targets().size(); ++i) {
    const Target& target = state_.patterned.targets()[i];
    for (Place& followed : state_.there()) {
      if (followed.feed->target().ns == target.ns &&
          std::ranges::find(tables[i], followed.feed->table()) == tables[i].end()) {
        state_.drop(followed.current);
        state_.drop(followed.next);
        followed = Place{nullptr, followed.loads};
      }
    }
    state_.feeds.set_tables(target, tables[i]);
  }
  for (Feed& feed : state_.feeds) {
    if (std::ranges::find(state_.tables, &feed, &Place::feed) == state_.tables.end()) {
      const auto place =
          std::ranges::find(state_.tables, static_cast<Feed*>(nullptr), &Place::feed);
      if (place == state_.tables.end()) {
        state_.tables.emplace_back(&feed);
      } else {
        *place = Place{&feed, place->loads};
      }
    }
  }
  return state_.patterned.settle(doubt);
}

}  // namespace cuckooguard::source
