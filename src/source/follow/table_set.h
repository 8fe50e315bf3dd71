// The tables of one server, and the log that is applied to them.
//
//        due ─▶ collecting ─▶ in step ─▶ out of step ─▶ due
//                   └─▶ load failed ─▶ due
//
// A table is read by a TableLoader while the log goes on: what the log says of it meanwhile is kept
// (log_feed.h), and goes into the new filter before look-ups see it. A table that is read
// again for another reason than doubt stays in step with its old filter until then.
//
// Must: a table that is in step has exactly the rows that the database had at log.position();
// log.prove() makes only such tables fresh, and only if position() covers what is proven.
// (tests/source/follow/table_set_test.cpp, integration/exactness)
//
// Threads: a monitor, with a side for each that calls it. Errors: values. Limits: beyond
// PendingChanges::kChangesMax log.apply() waits for the load to end: all tables pass after max_lag.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <ranges>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "filter/filter_file.h"
#include "follow/checkpoint.h"
#include "follow/table_set_loads.h"
#include "follow/table_set_log.h"
#include "follow/table_set_state.h"
#include "source/storage_directory.h"

namespace cuckooguard::source {

// A set of tables, for whoever asks the server which tables there are; while no loader reads.
//
// Threads: the source's and a loader's. Errors: values.
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
  void fail(std::string_view why, bool is_refused) {
    const std::scoped_lock lock(state_.mutex);
    if (!state_.patterned.doubt()) {
      return;
    }
    state_.patterned.failed(state_.clock());
    state_.report_patterned(is_refused ? filter::State::refused : filter::State::unsynced,
                            "cannot list its tables: " + std::string(why));
  }
  // Those that are followed, and that this list lacks: while a definition is being carried out a
  // server may not list its table.
  std::vector<std::string> missing_from(const Tables& tables) {
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
  // False: there is new doubt, ask again. New tables are due.
  bool set(std::uint64_t doubt, const Tables& tables) {
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
  // Of the tables that patterns find the server has just now those of which `has(name)` holds: if
  // one that is followed has gone there is doubt, also if nobody could read it.
  template <class Has>
  void see_all(const Has& has) {
    const std::scoped_lock lock(state_.mutex);
    if (state_.patterned.doubt()) {
      return;
    }
    const bool has_gone =
        std::ranges::any_of(state_.patterned.targets(), [&](const Target& target) {
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
  bool is_gone(TableIndex index) const {
    const std::scoped_lock lock(state_.mutex);
    return state_.tables[index].feed == nullptr;
  }

 private:
  using State = TableSetState<Log>;
  using Place = TablePlace<Log>;

  State& state_;
};

// A set of tables, for whoever keeps them between runs (restore.h, server_follower.h).
//
// Threads: the source's, as it begins, and the writer's. Errors: values.

// Which contents a table's filter has.
struct TableVersion {
  std::uint64_t load = 0;
  std::uint64_t changes = 0;
  bool will_change = false;  // rows wait to be erased

  bool operator==(const TableVersion& other) const {
    return load == other.load && changes == other.changes;
  }
};

template <class Log>
class TableSetCheckpoints {
 public:
  explicit TableSetCheckpoints(TableSetState<Log>& state) : state_(state) {}

  // A table as it was at its checkpoint's position, which position() may be behind.
  void adopt(TableIndex index, typename Log::Plan plan, Checkpoint<Log> checkpoint) {
    const std::scoped_lock lock(state_.mutex);
    Place& followed = state_.tables[index];
    followed.current =
        std::make_unique<TableRows<Log>>(std::move(plan), *followed.feed, state_.proofs);
    followed.current->is_out_of_step = true;  // stays so if there is no memory for what follows
    state_.applier->join(followed.current->table);
    followed.feed->snapshot_begins(state_.clock());
    followed.feed->publish(std::move(checkpoint.loaded));
    followed.current->feed.go_live();
    followed.current->feed.begin_behind(std::move(checkpoint.position));
    followed.current->is_out_of_step = false;
    followed.published_at = state_.clock();
    followed.is_due = false;
  }
  // Until `every` has passed, or a load was published. False: stopped.
  bool wait_until_due(std::chrono::nanoseconds every, const std::stop_token& stop) {
    const auto until = std::chrono::steady_clock::now() + every;
    typename State::Lock lock(state_.mutex);
    bool is_due = false;
    while (!is_due && !stop.stop_requested()) {
      // Not among those who wait for the log: publish() wakes it, not every event.
      is_due = state_.moved.wait_for(lock,
                                     stop,
                                     std::min<std::chrono::nanoseconds>(every, kLookEvery),
                                     [this] { return state_.has_published; }) ||
               std::chrono::steady_clock::now() >= until || is_any_wanted();
    }
    state_.has_published = false;
    return !stop.stop_requested();
  }
  // Somebody waits for a file of it, whatever there is.
  bool is_wanted(TableIndex index) {
    const std::scoped_lock lock(state_.mutex);
    return is_cut_wanted(index);
  }
  // The file that was written last is in its place.
  void tell_kept(TableIndex index, const StorageDirectory& directory, std::string_view source) {
    const std::scoped_lock lock(state_.mutex);
    if (const Feed* const feed = state_.tables[index].feed) {
      feed->published().kept(
          directory.filter_path(source, feed->target().settings.name, feed->table()));
    }
  }
  // Nothing if it is not in step.
  std::optional<TableVersion> version(TableIndex index) {
    const std::scoped_lock lock(state_.mutex);
    return can_be_kept(index) ? std::optional(version_of(index)) : std::nullopt;
  }
  // What a table was read of lies behind the last group, which alone shows that a log is the same.
  bool needs_group() const {
    const std::scoped_lock lock(state_.mutex);
    return std::ranges::any_of(state_.there(), [this](const Place& followed) {
      return followed.is_in_step() &&
             !followed.current->feed.has_reached(state_.applier->last_end());
    });
  }
  // What has not changed since it was these versions, as of now.
  struct Unchanged {
    std::set<TableIndex> tables;
    typename Log::Position position;  // from where the log is read again
    std::string resume;               // CheckpointFacts'
  };
  // Nothing: there is none.
  std::optional<Unchanged> unchanged(const std::map<TableIndex, TableVersion>& since) {
    const std::scoped_lock lock(state_.mutex);
    Unchanged now;
    for (const auto& [index, version] : since) {
      if (can_be_kept(index) && !has_erasures(index) && version_of(index) == version) {
        now.tables.insert(index);
      }
    }
    if (now.tables.empty()) {
      return std::nullopt;
    }
    now.position = state_.applier->resume_position();
    if (const std::optional<typename Log::Group>& last = state_.applier->last_group()) {
      now.resume = Log::resume_text(state_.applier->position(), *last);
    }
    return now;
  }
  // If it was refused alone, and not loaded since: where its file would be, which is of no use.
  std::optional<std::string> useless_file(TableIndex index,
                                          const StorageDirectory& directory,
                                          std::string_view source) {
    const std::scoped_lock lock(state_.mutex);
    const Place& followed = state_.tables[index];
    if (!followed.is_there() || !followed.is_refused) {
      return std::nullopt;
    }
    return directory.filter_path(
        source, followed.feed->target().settings.name, followed.feed->table());
  }
  // Without putting it in its place. Nothing is applied meanwhile, so that nothing new is proven if
  // it takes long. An error also if it is not in step, or if the server has not committed by
  // `until` what its log has deleted.
  std::expected<filter::WrittenFilterFile, filter::FilterFileError> write(
      TableIndex index,
      const StorageDirectory& directory,
      std::string_view source,
      std::string_view server,
      TimePoint until) {
    typename State::Lock lock(state_.mutex);
    const Pause pause(state_, lock);
    if (!state_.moved.wait_until(lock, until, [&] { return !has_erasures(index); })) {
      return unwritable("the server has not committed all transactions in its log");
    }
    return can_be_kept(index) ? write_paused(lock, index, directory, source, server)
                              : unwritable("the table is out of step");
  }

 private:
  using State = TableSetState<Log>;
  using Place = TablePlace<Log>;
  using Lock = typename State::Lock;

  static constexpr std::chrono::milliseconds kLookEvery{250};  // whether a file is wanted

  using Written = std::expected<filter::WrittenFilterFile, filter::FilterFileError>;

  // Nothing is applied, and no filter replaced; look-ups, the server's word and reading go on.
  class Pause {
   public:
    Pause(State& state, Lock& lock) : state_(state), lock_(lock) { ++state_.pauses; }
    ~Pause() {
      if (!lock_.owns_lock()) {
        lock_.lock();
      }
      --state_.pauses;
      state_.moved.notify_all();
    }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    State& state_;
    Lock& lock_;
  };

  static std::unexpected<filter::FilterFileError> unwritable(const char* why) {
    return std::unexpected(
        filter::FilterFileError{.fault = filter::FilterFileFault::unwritable, .what = why});
  }
  bool is_cut_wanted(TableIndex index) const {
    return can_be_kept(index) && state_.tables[index].feed->published().wants_cut();
  }
  bool is_any_wanted() const {
    return std::ranges::any_of(std::views::iota(TableIndex{0}, state_.tables.size()),
                               [this](TableIndex index) { return is_cut_wanted(index); });
  }
  bool can_be_kept(TableIndex index) const {
    const Place& followed = state_.tables[index];
    return state_.why_void.empty() && state_.applier->last_group() &&
           !state_.applier->is_expecting() && followed.is_in_step_for_good() &&
           followed.current->feed.has_reached(state_.applier->last_end());
  }
  TableVersion version_of(TableIndex index) const {
    const Place& followed = state_.tables[index];
    return {.load = followed.loads,
            .changes = followed.current->feed.changes(),
            .will_change = has_erasures(index)};
  }
  bool has_erasures(TableIndex index) const {
    const Place& followed = state_.tables[index];
    return followed.is_in_step() && followed.current->feed.has_erasures();
  }
  Written write_paused(Lock& lock,
                       TableIndex index,
                       const StorageDirectory& directory,
                       std::string_view source,
                       std::string_view server) {
    Place& followed = state_.tables[index];
    const std::string path = directory.filter_path(
        source, followed.feed->target().settings.name, followed.feed->table());
    const std::optional<typename Log::Group>& last = state_.applier->last_group();
    if (!last) {
      return unwritable("no event of the log has arrived yet");
    }
    filter::FilterFileLabel label =
        checkpoint_label({.resume = Log::resume_text(state_.applier->position(), *last),
                          .largest_id = followed.feed->largest_id(),
                          .ids_grow = followed.feed->ids_grow(),
                          .server = server},
                         Log::definition_hash(followed.feed->target(), followed.current->plan));
    label.attachment = followed.feed->live().writable_isolated().bytes();
    const filter::CuckooFilter& filter = *followed.feed->live().writable();
    state_.mark();
    followed.feed->published().cut(filter.digest());
    lock.unlock();
    auto written = filter::WrittenFilterFile::write(path, filter, label);
    lock.lock();
    return written;
  }

  State& state_;
};

template <class Log>
class TableSet {
 private:
  TableSetState<Log> state_;

 public:
  // `schema`: of all tables. `asking`: by whom proofs are waited for.
  TableSet(Feeds feeds, Clock clock, std::string schema, Asking asking = {})
      : state_(std::move(feeds), std::move(clock), std::move(schema), asking) {}

  TableSetLog<Log> log{state_};
  TableSetLoads<Log> loads{state_};
  TableSetCheckpoints<Log> checkpoints{state_};
  TableSetListing<Log> listing{state_};

  // All namespaces.
  std::span<const Target> targets() const { return state_.feeds.targets(); }
  // Places, also of tables that have gone: those are neither due nor in step.
  std::size_t size() {
    const std::scoped_lock lock(state_.mutex);
    return state_.tables.size();
  }
  // Of one that is being read, or before the first load.
  Target target(TableIndex index) {
    const std::scoped_lock lock(state_.mutex);
    return state_.tables[index].feed->target();
  }
  std::string table(TableIndex index) {
    const std::scoped_lock lock(state_.mutex);
    return state_.tables[index].feed->table();
  }

  // Any thread, without waiting for the set.
  const LogStatus<typename Log::Position>& status() const { return state_.status; }
};

}  // namespace cuckooguard::source
