#include <algorithm>
#include <utility>

#include "mysql/table_set.h"

namespace cuckooguard::source {

using filter::State;

namespace {

std::unexpected<filter::FilterFileError> unwritable(const char* why) {
  return std::unexpected(
      filter::FilterFileError{.fault = filter::FilterFileFault::unwritable, .what = why});
}

}  // namespace

// Nothing is applied, and no filter replaced; look-ups, the server's word and reading go on.
class TableSet::Pause {
 public:
  Pause(TableSet& tables, Lock& lock) : tables_(tables), lock_(lock) { ++tables_.pauses_; }
  ~Pause() {
    if (!lock_.owns_lock()) {
      lock_.lock();
    }
    --tables_.pauses_;
    tables_.moved_.notify_all();
  }
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;

 private:
  TableSet& tables_;
  Lock& lock_;
};

// --- the loader ---

FilterLoad TableSet::load(Index index) {
  const std::scoped_lock lock(mutex_);
  return tables_[index].feed->load();
}

void TableSet::refuse(Index index, State state, std::string_view why) {
  const std::scoped_lock lock(mutex_);
  TablePlace& followed = tables_[index];
  followed.feed->expire();
  followed.feed->refuse(state, why);
  followed.is_refused = true;
  has_published_ = true;  // of which there is nothing to be kept any more
  drop(followed.current);
  end_reading(followed, kRefusedPause);
}

void TableSet::fail(Index index, std::string_view why, State state) {
  const std::scoped_lock lock(mutex_);
  TablePlace& followed = tables_[index];
  const bool is_refused = state == State::refused;
  if (!is_refused && followed.next && followed.next->is_out_of_step) {
    why = followed.next->why_out_of_step;
  }
  const Reread next = is_refused ? Reread{.pause = kRefusedPause, .why = std::string(why)}
                                 : reread(followed, std::chrono::nanoseconds::zero(), why);
  if (!followed.is_in_step()) {
    if (is_refused) {
      followed.feed->report(state, next.why);
    } else {
      followed.feed->report_unless_refused(state, next.why);
    }
  }
  end_reading(followed, next.pause);
}

void TableSet::give_back(Index index) {
  const std::scoped_lock lock(mutex_);
  end_reading(tables_[index], std::chrono::nanoseconds::zero());
}

const TableRows& TableSet::collect(Index index, MysqlTable plan) {
  const std::scoped_lock lock(mutex_);
  TablePlace& followed = tables_[index];
  if (why_void_.empty()) {
    followed.feed->report_mended();
  }
  followed.feed->begin_to_collect(followed.is_in_step());
  followed.next = std::make_unique<TableRows>(std::move(plan), *followed.feed);
  applier_->join(followed.next->table);
  applier_->begin_waiting(followed.next->table);
  return *followed.next;
}

std::optional<LogPosition> TableSet::wait_until_collecting(std::span<const Index> indexes,
                                                           const std::stop_token& stop,
                                                           std::chrono::nanoseconds prepared_wait) {
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
  moved_.wait_for(lock, stop, prepared_wait, [&] {
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
  Lock lock(mutex_);
  wait_for_pauses(lock);
  TablePlace& followed = tables_[index];
  if (followed.next->is_out_of_step) {
    return std::unexpected("the table has changed while it was read");
  }
  if (applier_->is_expecting()) {
    return std::unexpected("the log is being resumed");
  }
  if (auto taken =
          followed.next->feed.take_pending(load.filter(), applier_->position(), applier_->place());
      !taken) {
    return taken;
  }
  drop(followed.current);
  followed.current = std::move(followed.next);
  followed.current->is_out_of_step = true;  // stays so if there is no memory for what follows
  followed.feed->publish(load.take());
  followed.current->feed.go_live();
  followed.current->is_out_of_step = false;
  followed.published_at = clock_();
  ++followed.loads;
  followed.is_refused = false;
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
  return why_void_.empty() && applier_->last_group() && !applier_->is_expecting() &&
         followed.is_in_step() && followed.current->feed.has_reached(applier_->position());
}

std::optional<TableSet::Version> TableSet::version(Index index) {
  const std::scoped_lock lock(mutex_);
  if (!can_be_kept(index)) {
    return std::nullopt;
  }
  const TablePlace& followed = tables_[index];
  return Version{.load = followed.loads, .changes = followed.current->feed.changes()};
}

std::optional<std::string> TableSet::useless_file(Index index,
                                                  const StorageDirectory& directory,
                                                  std::string_view source) {
  const std::scoped_lock lock(mutex_);
  const TablePlace& followed = tables_[index];
  if (!followed.is_there() || !followed.is_refused) {
    return std::nullopt;
  }
  return directory.filter_path(
      source, followed.feed->target().settings.name, followed.feed->table());
}

std::expected<filter::WrittenFilterFile, filter::FilterFileError> TableSet::write_checkpoint(
    Index index,
    const StorageDirectory& directory,
    std::string_view source,
    std::string_view server,
    TimePoint until) {
  Lock lock(mutex_);
  const Pause pause(*this, lock);
  if (!moved_.wait_until(lock, until, [&] { return !has_erasures(index); })) {
    return unwritable("the server has not committed what its log has");
  }
  return can_be_kept(index) ? write_paused(lock, index, directory, source, server)
                            : unwritable("the table is out of step");
}

bool TableSet::has_erasures(Index index) const {
  const TablePlace& followed = tables_[index];
  return followed.is_in_step() && followed.current->feed.has_erasures();
}

std::expected<filter::WrittenFilterFile, filter::FilterFileError> TableSet::write_paused(
    Lock& lock,
    Index index,
    const StorageDirectory& directory,
    std::string_view source,
    std::string_view server) {
  TablePlace& followed = tables_[index];
  const std::string path =
      directory.filter_path(source, followed.feed->target().settings.name, followed.feed->table());
  const std::optional<LogGroup>& last = applier_->last_group();
  filter::FilterFileLabel label =
      checkpoint_label({.position = applier_->position(),
                        .last_group = last ? *last : LogGroup(),  // can_be_kept() wants one
                        .largest_id = followed.feed->largest_id(),
                        .ids_grow = followed.feed->ids_grow(),
                        .server = server},
                       definition_hash(followed.feed->target(), followed.current->plan));
  label.attachment = followed.feed->live().writable_isolated().bytes();
  const filter::CuckooFilter& filter = *followed.feed->live().writable();
  lock.unlock();
  auto written = filter::WrittenFilterFile::write(path, filter, label);
  lock.lock();
  return written;
}

}  // namespace cuckooguard::source
