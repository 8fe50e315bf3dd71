// A set of tables, for whoever keeps them between runs (restore.h, checkpoint_writer.h).
//
// Threads: the source's, as it begins, and the writer's. Errors: values.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "filter/filter_file.h"
#include "follow/checkpoint.h"
#include "follow/table_set_state.h"
#include "source/storage_directory.h"

namespace cuckooguard::source {

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
  void adopt(TableIndex index, typename Log::Plan plan, Checkpoint<Log> checkpoint);
  // Until `every` has passed, or a load was published. False: stopped.
  bool wait_until_due(std::chrono::nanoseconds every, const std::stop_token& stop);
  // Nothing if it is not in step.
  std::optional<TableVersion> version(TableIndex index);
  // What a table was read of lies behind the last group, which alone shows that a log is the same.
  bool needs_group() const;
  // What has not changed since it was these versions, as of now.
  struct Unchanged {
    std::set<TableIndex> tables;
    typename Log::Position position;  // from where the log is read again
    std::string resume;               // CheckpointFacts'
  };
  // Nothing: there is none.
  std::optional<Unchanged> unchanged(const std::map<TableIndex, TableVersion>& since);
  // If it was refused alone, and not loaded since: where its file would be, which is of no use.
  std::optional<std::string> useless_file(TableIndex index,
                                          const StorageDirectory& directory,
                                          std::string_view source);
  // Without putting it in its place. Nothing is applied meanwhile, so that nothing new is proven if
  // it takes long. An error also if it is not in step, or if the server has not committed by
  // `until` what its log has deleted.
  std::expected<filter::WrittenFilterFile, filter::FilterFileError> write(
      TableIndex index,
      const StorageDirectory& directory,
      std::string_view source,
      std::string_view server,
      TimePoint until);

 private:
  using State = TableSetState<Log>;
  using Place = TablePlace<Log>;
  using Lock = typename State::Lock;
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
  bool can_be_kept(TableIndex index) const;
  TableVersion version_of(TableIndex index) const;
  bool has_erasures(TableIndex index) const;
  Written write_paused(Lock& lock,
                       TableIndex index,
                       const StorageDirectory& directory,
                       std::string_view source,
                       std::string_view server);

  State& state_;
};

template <class Log>
void TableSetCheckpoints<Log>::adopt(TableIndex index,
                                     typename Log::Plan plan,
                                     Checkpoint<Log> checkpoint) {
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

template <class Log>
bool TableSetCheckpoints<Log>::wait_until_due(std::chrono::nanoseconds every,
                                              const std::stop_token& stop) {
  typename State::Lock lock(state_.mutex);
  // Not among those who wait for the log: publish() wakes it, not every event.
  state_.moved.wait_for(lock, stop, every, [this] { return state_.has_published; });
  state_.has_published = false;
  return !stop.stop_requested();
}

template <class Log>
bool TableSetCheckpoints<Log>::can_be_kept(TableIndex index) const {
  const Place& followed = state_.tables[index];
  return state_.why_void.empty() && state_.applier->last_group() &&
         !state_.applier->is_expecting() && followed.is_in_step() &&
         followed.current->feed.has_reached(state_.applier->last_end());
}

template <class Log>
bool TableSetCheckpoints<Log>::needs_group() const {
  const std::scoped_lock lock(state_.mutex);
  return std::ranges::any_of(state_.there(), [this](const Place& followed) {
    return followed.is_in_step() && !followed.current->feed.has_reached(state_.applier->last_end());
  });
}

template <class Log>
std::optional<TableVersion> TableSetCheckpoints<Log>::version(TableIndex index) {
  const std::scoped_lock lock(state_.mutex);
  return can_be_kept(index) ? std::optional(version_of(index)) : std::nullopt;
}

template <class Log>
TableVersion TableSetCheckpoints<Log>::version_of(TableIndex index) const {
  const Place& followed = state_.tables[index];
  return {.load = followed.loads,
          .changes = followed.current->feed.changes(),
          .will_change = has_erasures(index)};
}

template <class Log>
auto TableSetCheckpoints<Log>::unchanged(const std::map<TableIndex, TableVersion>& since)
    -> std::optional<Unchanged> {
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

template <class Log>
std::optional<std::string> TableSetCheckpoints<Log>::useless_file(TableIndex index,
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

template <class Log>
std::expected<filter::WrittenFilterFile, filter::FilterFileError> TableSetCheckpoints<Log>::write(
    TableIndex index,
    const StorageDirectory& directory,
    std::string_view source,
    std::string_view server,
    TimePoint until) {
  typename State::Lock lock(state_.mutex);
  const Pause pause(state_, lock);
  if (!state_.moved.wait_until(lock, until, [&] { return !has_erasures(index); })) {
    return unwritable("the server has not committed what its log has");
  }
  return can_be_kept(index) ? write_paused(lock, index, directory, source, server)
                            : unwritable("the table is out of step");
}

template <class Log>
bool TableSetCheckpoints<Log>::has_erasures(TableIndex index) const {
  const Place& followed = state_.tables[index];
  return followed.is_in_step() && followed.current->feed.has_erasures();
}

template <class Log>
std::expected<filter::WrittenFilterFile, filter::FilterFileError>
TableSetCheckpoints<Log>::write_paused(Lock& lock,
                                       TableIndex index,
                                       const StorageDirectory& directory,
                                       std::string_view source,
                                       std::string_view server) {
  Place& followed = state_.tables[index];
  const std::string path =
      directory.filter_path(source, followed.feed->target().settings.name, followed.feed->table());
  const std::optional<typename Log::Group>& last = state_.applier->last_group();
  if (!last) {
    return unwritable("nothing of the log has been seen");
  }
  filter::FilterFileLabel label =
      checkpoint_label({.resume = Log::resume_text(state_.applier->position(), *last),
                        .largest_id = followed.feed->largest_id(),
                        .ids_grow = followed.feed->ids_grow(),
                        .server = server},
                       Log::definition_hash(followed.feed->target(), followed.current->plan));
  label.attachment = followed.feed->live().writable_isolated().bytes();
  const filter::CuckooFilter& filter = *followed.feed->live().writable();
  lock.unlock();
  auto written = filter::WrittenFilterFile::write(path, filter, label);
  lock.lock();
  return written;
}

}  // namespace cuckooguard::source
