#include "source/table_set.h"

#include <algorithm>
#include <utility>

namespace cuckooguard::source {

using filter::EraseOutcome;
using filter::InsertOutcome;
using filter::State;

TableSet::TableSet(Feeds feeds, Clock clock)
    : clock_(std::move(clock)), random_(std::random_device{}()) {
  for (Feed& feed : feeds) {
    tables_.emplace_back(std::move(feed));
  }
}

// --- the follower ---

void TableSet::begin_at(LogPosition position) {
  const std::scoped_lock lock(mutex_);
  for (Followed& followed : tables_) {
    followed.feed.expire();
    followed.current.reset();
    followed.next.reset();
    followed.is_being_read = false;
    followed.is_due = true;
    followed.due_at = {};
  }
  last_proven_ = position;
  has_gone_back_ = false;
  status_.moved_to(position);
  applier_ = std::make_unique<LogApplier>(
      std::move(position),
      [this](FollowedTable& table, std::string_view why) { put_out_of_step(table, why); });
}

bool TableSet::has_gone_back() {
  const std::scoped_lock lock(mutex_);
  return has_gone_back_;
}

bool TableSet::has_begun() {
  const std::scoped_lock lock(mutex_);
  return applier_ != nullptr;
}

LogPosition TableSet::position() {
  const std::scoped_lock lock(mutex_);
  return applier_ ? applier_->position() : LogPosition();
}

void TableSet::reconnected(binlog::ChecksumAlgorithm checksum) {
  const std::scoped_lock lock(mutex_);
  applier_->reconnected(checksum);
  status_.following();
}

std::expected<void, std::string> TableSet::apply(std::string_view event,
                                                 const std::stop_token& stop) {
  Lock lock(mutex_);
  if (is_any_full()) {
    ++waiting_;
    moved_.wait(lock, stop, [this] { return !is_any_full(); });
    --waiting_;
  }
  const auto applied = applier_->apply(event);
  if (applied && *applied) {
    status_.moved_to(applier_->position());
  }
  if (waiting_ > 0) {
    moved_.notify_all();
  }
  return applied ? std::expected<void, std::string>() : std::unexpected(applied.error());
}

bool TableSet::is_any_full() const {
  return std::ranges::any_of(tables_, [](const Followed& followed) {
    return followed.next && followed.next->feed.pending().is_full();
  });
}

void TableSet::adopt(Index index, MysqlTable plan, Checkpoint checkpoint) {
  const std::scoped_lock lock(mutex_);
  Followed& followed = tables_[index];
  followed.current = std::make_unique<Rows>(std::move(plan), followed.feed);
  applier_->join(followed.current->table);
  followed.feed.snapshot_begins(clock_());
  followed.feed.publish(std::move(checkpoint.loaded));
  followed.current->feed.go_live();
  followed.current->feed.begin_behind(std::move(checkpoint.position));
  followed.published_at = clock_();
  followed.is_due = false;
}

std::vector<TableSet::Index> TableSet::take_due() {
  const std::scoped_lock lock(mutex_);
  const TimePoint now = clock_();
  std::vector<Index> due;
  for (Index index = 0; index < tables_.size(); ++index) {
    Followed& followed = tables_[index];
    if (followed.is_due && !followed.is_being_read && now >= followed.due_at) {
      followed.is_due = false;
      followed.is_being_read = true;
      due.push_back(index);
    }
  }
  return due;
}

void TableSet::prove(TimePoint at, const LogPosition& position) {
  const std::scoped_lock lock(mutex_);
  if (!applier_ || has_gone_back_ || !applier_->position().covers(position)) {
    return;
  }
  if (!position.covers(last_proven_)) {
    has_gone_back_ = true;
    status_.has_no_position();
    return;
  }
  last_proven_ = position;
  status_.proven(at);
  for (Followed& followed : tables_) {
    if (followed.is_in_step() && followed.current->feed.has_reached(applier_->position())) {
      followed.feed.measure_growth(at);
      followed.feed.prove(at);
    }
  }
}

void TableSet::tend() {
  const std::scoped_lock lock(mutex_);
  const TimePoint now = clock_();
  for (Followed& followed : tables_) {
    followed.feed.report_if_stale(now);
    if (followed.is_in_step() && !followed.is_being_read && !followed.is_due &&
        followed.current->feed.wants_rebuild()) {
      followed.is_due = true;
      followed.due_at = followed.published_at + kRebuildPause;
    }
  }
}

void TableSet::report_lost(std::string_view why) {
  const std::scoped_lock lock(mutex_);
  status_.lost(why);
  for (Followed& followed : tables_) {
    followed.feed.report_unless_refused(State::down, why);
  }
}

void TableSet::report_all(State state, std::string_view why) {
  const std::scoped_lock lock(mutex_);
  for (Followed& followed : tables_) {
    followed.feed.expire();
    followed.feed.report(state, why);
  }
}

void TableSet::expire_all() {
  const std::scoped_lock lock(mutex_);
  for (Followed& followed : tables_) {
    followed.feed.expire();
  }
}

// --- the checkpoints ---

bool TableSet::wait_for_checkpoint(std::chrono::nanoseconds every, const std::stop_token& stop) {
  Lock lock(mutex_);
  ++waiting_;
  moved_.wait_for(lock, stop, every, [this] { return has_published_; });
  --waiting_;
  has_published_ = false;
  return !stop.stop_requested();
}

std::optional<TableSet::Version> TableSet::version(Index index) {
  const std::scoped_lock lock(mutex_);
  const Followed& followed = tables_[index];
  if (!followed.is_in_step()) {
    return std::nullopt;
  }
  return Version{.load = followed.loads, .changes = followed.current->feed.changes()};
}

std::expected<filter::WrittenFilterFile, filter::FilterFileError> TableSet::write_checkpoint(
    Index index, const std::string& path, std::string_view server) {
  const std::scoped_lock lock(mutex_);
  Followed& followed = tables_[index];
  if (!followed.is_in_step() || !followed.current->feed.has_reached(applier_->position())) {
    return std::unexpected(filter::FilterFileError{.fault = filter::FilterFileFault::unwritable,
                                                   .what = path + ": the table is out of step"});
  }
  const filter::FilterFileLabel label =
      checkpoint_label({.position = applier_->position(),
                        .largest_id = followed.feed.largest_id(),
                        .ids_grow = followed.feed.ids_grow(),
                        .server = server},
                       definition_hash(followed.feed.target(), followed.current->plan));
  return filter::WrittenFilterFile::write(path, *followed.feed.live().writable(), label);
}

// --- with the lock held ---

std::chrono::nanoseconds TableSet::some_of(std::chrono::nanoseconds most) {
  return std::chrono::nanoseconds(
      std::uniform_int_distribution<std::chrono::nanoseconds::rep>(0, most.count())(random_));
}

// The applier has let go of it. A loader may still be reading it: it finds out, and drops it.
void TableSet::put_out_of_step(FollowedTable& table, std::string_view why) {
  for (Followed& followed : tables_) {
    for (Rows* const rows : {followed.current.get(), followed.next.get()}) {
      if (rows == nullptr || &rows->table != &table) {
        continue;
      }
      rows->is_out_of_step = true;
      if (rows == followed.current.get()) {
        followed.feed.expire();
        followed.feed.report(State::loading, why);
      }
      // Not all guards of a database at once.
      followed.is_due = true;
      followed.due_at = clock_() + some_of(kRereadDelayMax);
    }
  }
}

void TableSet::drop(std::unique_ptr<Rows>& rows) {
  if (rows) {
    applier_->leave(rows->table);
    rows.reset();
  }
}

void TableSet::end_reading(Followed& followed, std::chrono::nanoseconds pause) {
  drop(followed.next);
  followed.is_being_read = false;
  followed.is_due = true;
  followed.due_at = clock_() + pause;
  moved_.notify_all();
}

bool TableSet::wait(Lock& lock, const std::stop_token& stop, const std::function<bool()>& until) {
  ++waiting_;
  const bool is_so = moved_.wait_for(lock, stop, kViewWaitMax, until);
  --waiting_;
  return is_so && !stop.stop_requested();
}

// --- the loader ---

FilterLoad TableSet::load(Index index) {
  const std::scoped_lock lock(mutex_);
  return tables_[index].feed.load();
}

void TableSet::refuse(Index index, std::string_view why) {
  const std::scoped_lock lock(mutex_);
  Followed& followed = tables_[index];
  followed.feed.expire();
  followed.feed.refuse(why);
  drop(followed.current);
  end_reading(followed, kRefusedPause);
}

void TableSet::fail(Index index, std::string_view why) {
  const std::scoped_lock lock(mutex_);
  Followed& followed = tables_[index];
  if (!followed.is_in_step()) {
    followed.feed.report_unless_refused(State::loading, why);
  }
  end_reading(followed, some_of(kRereadDelayMax));
}

const TableSet::Rows& TableSet::collect(Index index, MysqlTable plan) {
  const std::scoped_lock lock(mutex_);
  Followed& followed = tables_[index];
  followed.feed.begin_to_collect();
  followed.next = std::make_unique<Rows>(std::move(plan), followed.feed);
  applier_->join(followed.next->table);
  applier_->begin_waiting(followed.next->table);
  return *followed.next;
}

std::optional<LogPosition> TableSet::wait_until_collecting(std::span<const Index> indexes,
                                                           const std::stop_token& stop) {
  Lock lock(mutex_);
  const bool is_so = wait(lock, stop, [&] {
    return std::ranges::all_of(indexes, [this](Index index) {
      const Rows& rows = *tables_[index].next;
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

bool TableSet::is_prepared(const binlog::Xid& xid) {
  const std::scoped_lock lock(mutex_);
  return applier_->is_prepared(xid);
}

bool TableSet::view_is(Index index, const ReadView& view, TimePoint at) {
  const std::scoped_lock lock(mutex_);
  Followed& followed = tables_[index];
  followed.feed.snapshot_begins(at);
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
  Followed& followed = tables_[index];
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
  followed.feed.publish(load.take());
  followed.current->feed.go_live();
  followed.published_at = clock_();
  ++followed.loads;
  has_published_ = true;
  followed.is_being_read = false;
  followed.is_due = false;
  moved_.notify_all();
  return {};
}

}  // namespace cuckooguard::source
