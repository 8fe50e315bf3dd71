#include <algorithm>
#include <utility>

#include "source/table_set.h"

namespace cuckooguard::source {

using filter::EraseOutcome;
using filter::InsertOutcome;
using filter::State;

// --- the loader ---

FilterLoad TableSet::load(Index index) {
  const std::scoped_lock lock(mutex_);
  return tables_[index].feed->load();
}

void TableSet::refuse(Index index, std::string_view why) {
  const std::scoped_lock lock(mutex_);
  TablePlace& followed = tables_[index];
  followed.feed->expire();
  followed.feed->refuse(why);
  drop(followed.current);
  end_reading(followed, kRefusedPause);
}

void TableSet::fail(Index index, std::string_view why) {
  const std::scoped_lock lock(mutex_);
  TablePlace& followed = tables_[index];
  if (!followed.is_in_step()) {
    followed.feed->report_unless_refused(State::loading, why);
  }
  end_reading(followed, some_of(kRereadDelayMax));
}

const TableRows& TableSet::collect(Index index, MysqlTable plan) {
  const std::scoped_lock lock(mutex_);
  TablePlace& followed = tables_[index];
  followed.feed->begin_to_collect();
  followed.next = std::make_unique<TableRows>(std::move(plan), *followed.feed);
  applier_->join(followed.next->table);
  applier_->begin_waiting(followed.next->table);
  return *followed.next;
}

std::optional<LogPosition> TableSet::wait_until_collecting(std::span<const Index> indexes,
                                                           const std::stop_token& stop) {
  Lock lock(mutex_);
  const bool is_so = wait(lock, stop, [&] {
    return std::ranges::all_of(indexes, [this](Index index) {
      const TableRows& rows = *tables_[index].next;
      return rows.is_out_of_step || applier_->has_joined(rows.table);
    });
  });
  if (!is_so) {
    return std::nullopt;
  }
  ++waiting_;
  moved_.wait_for(lock, stop, kPreparedWaitMax, [&] {
    return std::ranges::none_of(indexes, [this](Index index) {
      return applier_->is_prepared_before(tables_[index].next->table);
    });
  });
  --waiting_;
  for (const Index index : indexes) {
    applier_->end_waiting(tables_[index].next->table);
  }
  return applier_->position();
}

XaState TableSet::xa_state(const binlog::Xid& xid) {
  const std::scoped_lock lock(mutex_);
  return applier_->xa_state(xid);
}

bool TableSet::view_is(Index index, const ReadView& view, TimePoint at) {
  const std::scoped_lock lock(mutex_);
  TablePlace& followed = tables_[index];
  followed.feed->snapshot_begins(at);
  return followed.next->feed.pending().view_is(view);
}

bool TableSet::wait_until_past(const ReadView& view, const std::stop_token& stop) {
  Lock lock(mutex_);
  return wait(lock, stop, [&] {
    return view.window_end ? applier_->place() >= *view.window_end
                           : applier_->position().covers(view.covered);
  });
}

void TableSet::settle(Index index) {
  const std::scoped_lock lock(mutex_);
  tables_[index].next->feed.pending().settle();
}

bool TableSet::is_outdated(Index index) {
  const std::scoped_lock lock(mutex_);
  return tables_[index].next->is_out_of_step;
}

std::expected<void, std::string> TableSet::publish(Index index, FilterLoad load) {
  const std::scoped_lock lock(mutex_);
  TablePlace& followed = tables_[index];
  if (followed.next->is_out_of_step) {
    return std::unexpected("the table has changed while it was read");
  }
  bool is_full = false;
  bool is_missing = false;
  filter::CuckooFilter& filter = load.filter();
  followed.next->feed.pending().take(
      [&](std::uint64_t hash) { is_full = is_full || filter.insert(hash) == InsertOutcome::full; },
      [&](std::uint64_t hash) {
        is_missing = is_missing || filter.erase(hash) == EraseOutcome::not_found;
      });
  if (is_full || is_missing) {
    return std::unexpected(is_full ? "the table has grown beyond the filter while it was read"
                                   : "the log takes a row away that the snapshot does not have");
  }
  drop(followed.current);
  followed.current = std::move(followed.next);
  followed.current->is_out_of_step = true;  // stays so if there is no memory for what follows
  followed.feed->publish(load.take());
  followed.current->feed.go_live();
  followed.current->is_out_of_step = false;
  followed.published_at = clock_();
  ++followed.loads;
  has_published_ = true;
  followed.is_being_read = false;
  followed.is_due = false;
  moved_.notify_all();
  return {};
}

// --- the checkpoints ---

bool TableSet::wait_for_checkpoint(std::chrono::nanoseconds every, const std::stop_token& stop) {
  Lock lock(mutex_);
  // Not among those who wait for the log: publish() wakes it, not every event.
  moved_.wait_for(lock, stop, every, [this] { return has_published_; });
  has_published_ = false;
  return !stop.stop_requested();
}

bool TableSet::can_be_kept(Index index) {
  const TablePlace& followed = tables_[index];
  return why_void_.empty() && followed.is_in_step() &&
         followed.current->feed.has_reached(applier_->position());
}

std::optional<TableSet::Version> TableSet::version(Index index) {
  const std::scoped_lock lock(mutex_);
  if (!can_be_kept(index)) {
    return std::nullopt;
  }
  const TablePlace& followed = tables_[index];
  return Version{.load = followed.loads, .changes = followed.current->feed.changes()};
}

std::expected<filter::WrittenFilterFile, filter::FilterFileError> TableSet::write_checkpoint(
    Index index,
    const StorageDirectory& directory,
    std::string_view source,
    std::string_view server) {
  const std::scoped_lock lock(mutex_);
  if (!can_be_kept(index)) {
    return std::unexpected(filter::FilterFileError{.fault = filter::FilterFileFault::unwritable,
                                                   .what = "the table is out of step"});
  }
  TablePlace& followed = tables_[index];
  const std::string path =
      directory.filter_path(source, followed.feed->target().settings.name, followed.feed->table());
  const filter::FilterFileLabel label =
      checkpoint_label({.position = applier_->position(),
                        .largest_id = followed.feed->largest_id(),
                        .ids_grow = followed.feed->ids_grow(),
                        .server = server},
                       definition_hash(followed.feed->target(), followed.current->plan));
  return filter::WrittenFilterFile::write(path, *followed.feed->live().writable(), label);
}

}  // namespace cuckooguard::source
