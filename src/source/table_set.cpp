#include "source/table_set.h"

#include <algorithm>
#include <ranges>
#include <utility>

namespace cuckooguard::source {

using filter::State;

TableSet::TableSet(Feeds feeds, Clock clock, std::string schema)
    : clock_(std::move(clock)),
      random_(std::random_device{}()),
      schema_(std::move(schema)),
      feeds_(std::move(feeds)),
      patterned_(feeds_.targets()) {
  for (Feed& feed : feeds_) {
    tables_.emplace_back(&feed);
  }
}

std::size_t TableSet::size() {
  const std::scoped_lock lock(mutex_);
  return tables_.size();
}

Target TableSet::target(Index index) {
  const std::scoped_lock lock(mutex_);
  return tables_[index].feed->target();
}

std::string TableSet::table(Index index) {
  const std::scoped_lock lock(mutex_);
  return tables_[index].feed->table();
}

// --- the follower ---

void TableSet::begin_at(LogPosition position) {
  const std::scoped_lock lock(mutex_);
  for (TablePlace& followed : there()) {
    followed.feed->expire();
    followed.current.reset();
    followed.next.reset();
    followed.is_being_read = false;
    followed.is_due = true;
    followed.due_at = {};
  }
  proofs_.begin_at(position);
  why_void_ = {};
  status_.moved_to(position);
  patterned_.begin_doubt();
  applier_ = std::make_unique<LogApplier>(
      std::move(position),
      LogApplier::Calls{
          .on_out_of_step = [this](FollowedTable& table,
                                   std::string_view why) { put_out_of_step(table, why); },
          .on_definition = [this] { patterned_.begin_doubt(); },
          .on_other_table = [this](std::string_view schema,
                                   std::string_view table) { see_table(schema, table); },
      });
}

std::string_view TableSet::why_void() {
  const std::scoped_lock lock(mutex_);
  return why_void_;
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
  proofs_.forget_unproven();
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
  try {
    const auto applied = applier_->apply(event);
    if (applied && *applied) {
      status_.moved_to(applier_->position());
      prove_what_is_covered();
    }
    if (waiting_ > 0) {
      moved_.notify_all();
    }
    return applied ? std::expected<void, std::string>() : std::unexpected(applied.error());
  } catch (...) {
    make_void("a transaction may have been applied in part");
    throw;
  }
}

// Allocates nothing: it may be for want of memory that it is called.
void TableSet::make_void(std::string_view why) {
  why_void_ = why;
  status_.has_no_position();
  proofs_.forget_unproven();
  for (TablePlace& followed : there()) {
    followed.feed->expire();
  }
}

bool TableSet::is_any_full() const {
  return std::ranges::any_of(tables_, [](const TablePlace& followed) {
    return followed.next && followed.next->feed.pending().is_full();
  });
}

void TableSet::adopt(Index index, MysqlTable plan, Checkpoint checkpoint) {
  const std::scoped_lock lock(mutex_);
  TablePlace& followed = tables_[index];
  followed.current = std::make_unique<TableRows>(std::move(plan), *followed.feed);
  followed.current->is_out_of_step = true;  // stays so if there is no memory for what follows
  applier_->join(followed.current->table);
  followed.feed->snapshot_begins(clock_());
  followed.feed->publish(std::move(checkpoint.loaded));
  followed.current->feed.go_live();
  followed.current->feed.begin_behind(std::move(checkpoint.position));
  followed.current->is_out_of_step = false;
  followed.published_at = clock_();
  followed.is_due = false;
}

std::vector<TableSet::Index> TableSet::take_due() {
  const std::scoped_lock lock(mutex_);
  const TimePoint now = clock_();
  std::vector<Index> due;
  for (Index index = 0; index < tables_.size(); ++index) {
    TablePlace& followed = tables_[index];
    if (followed.feed != nullptr && followed.is_due && !followed.is_being_read &&
        now >= followed.due_at) {
      followed.is_due = false;
      followed.is_being_read = true;
      due.push_back(index);
    }
  }
  return due;
}

void TableSet::prove(TimePoint at, const LogPosition& position) {
  const std::scoped_lock lock(mutex_);
  if (!applier_ || !why_void_.empty()) {
    return;
  }
  if (!proofs_.add(at, position)) {
    make_void("the server's log has begun anew");
    return;
  }
  prove_what_is_covered();
}

void TableSet::prove_what_is_covered() {
  const auto at = why_void_.empty() ? proofs_.take_proven(applier_->position()) : std::nullopt;
  if (!at) {
    return;
  }
  status_.proven(*at);
  for (TablePlace& followed : there()) {
    if (followed.is_in_step() && followed.current->feed.has_reached(applier_->position())) {
      followed.feed->measure_growth(*at);
      followed.feed->prove(*at);
    }
  }
}

void TableSet::tend() {
  const std::scoped_lock lock(mutex_);
  const TimePoint now = clock_();
  for (TablePlace& followed : there()) {
    followed.feed->report_if_stale(now);
    if (!followed.is_in_step() || followed.is_being_read || followed.is_due) {
      continue;
    }
    const bool is_asked = followed.feed->live().take_rebuild_request();
    if (is_asked || followed.current->feed.wants_rebuild()) {
      followed.is_due = true;
      followed.due_at = is_asked ? now : followed.published_at + kRebuildPause;
    }
  }
}

void TableSet::report_lost(std::string_view why) {
  const std::scoped_lock lock(mutex_);
  status_.lost(why);
  for (TablePlace& followed : there()) {
    followed.feed->report_unless_refused(State::down, why);
  }
}

void TableSet::report_all(State state, std::string_view why) {
  const std::scoped_lock lock(mutex_);
  for (TablePlace& followed : there()) {
    followed.feed->expire();
    followed.feed->report(state, why);
  }
}

void TableSet::expire_all() {
  const std::scoped_lock lock(mutex_);
  for (TablePlace& followed : there()) {
    followed.feed->expire();
  }
}

// --- with the lock held ---

std::chrono::nanoseconds TableSet::some_of(std::chrono::nanoseconds most) {
  return std::chrono::nanoseconds(
      std::uniform_int_distribution<std::chrono::nanoseconds::rep>(0, most.count())(random_));
}

// The applier has let go of it. A loader may still be reading it: it finds out, and drops it.
void TableSet::put_out_of_step(FollowedTable& table, std::string_view why) {
  for (TablePlace& followed : there()) {
    for (TableRows* const rows : {followed.current.get(), followed.next.get()}) {
      if (rows == nullptr || &rows->table != &table) {
        continue;
      }
      rows->is_out_of_step = true;
      if (rows == followed.current.get()) {
        followed.feed->expire();
        followed.feed->report(State::loading, why);
      }
      // Not all guards of a database at once.
      followed.is_due = true;
      followed.due_at = clock_() + some_of(kRereadDelayMax);
    }
  }
}

void TableSet::drop(std::unique_ptr<TableRows>& rows) {
  if (rows) {
    applier_->leave(rows->table);
    rows.reset();
  }
}

void TableSet::end_reading(TablePlace& followed, std::chrono::nanoseconds pause) {
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

}  // namespace cuckooguard::source
