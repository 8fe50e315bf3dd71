#include "mysql/table_set.h"

#include <algorithm>
#include <ranges>
#include <utility>

namespace cuckooguard::source {

using filter::State;

namespace {

constexpr std::string_view kInPart = "a transaction may have been applied in part";
constexpr std::string_view kOtherLog =
    "the server's log is not the one that was followed: it was begun anew, or lost its end";

}  // namespace

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

void TableSet::begin_at(LogPosition position, std::vector<LogGroup> groups) {
  const std::scoped_lock lock(mutex_);
  for (TablePlace& followed : there()) {
    followed.feed->expire();
    followed.current.reset();
    followed.next.reset();
    followed.is_being_read = false;
    followed.is_due = true;
    followed.due_at = {};
    if (is_refused_) {
      followed.feed->report_mended();
    }
  }
  if (std::exchange(is_refused_, false)) {
    report_patterned(State::loading, "it is not refused any more: looking for its tables");
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
  if (!groups.empty()) {
    applier_->rest_on(std::move(groups));
  }
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

LogPosition TableSet::resume_position() {
  const std::scoped_lock lock(mutex_);
  return applier_->resume_position();
}

bool TableSet::can_resume() {
  const std::scoped_lock lock(mutex_);
  return applier_ != nullptr && applier_->last_group().has_value();
}

void TableSet::reconnected(binlog::ChecksumAlgorithm checksum, std::string_view server) {
  const std::scoped_lock lock(mutex_);
  const std::uint64_t log_of = filter::hash_of_definition(server);
  for (TablePlace& followed : there()) {
    if (!followed.is_in_step()) {
      continue;
    }
    TableRows& rows = *followed.current;
    rows.feed.forget_committed();
    if (rows.feed.has_erasures() && log_of != applier_->log_of()) {
      take_out_of_step(
          rows, "rows were deleted on another server, which had not been seen to commit that");
    }
  }
  applier_->reconnected(checksum, log_of);
  proofs_.forget_unproven();
  status_.following();
}

std::expected<void, std::string> TableSet::apply(std::string_view event,
                                                 const std::stop_token& stop) {
  Lock lock(mutex_);
  while (must_wait() && !wait(lock, stop, [this] { return !must_wait(); })) {
    if (stop.stop_requested()) {
      return {};
    }
    if (pauses_ == 0 && !is_any_load_full()) {
      return std::unexpected("the server does not commit what its log has");
    }
  }
  try {
    const auto applied = applier_->apply(event);
    if (applied && *applied) {
      status_.moved_to(applier_->position());
      prove_what_is_covered();
    }
    if (applier_->is_other_log()) {
      make_void(kOtherLog);
    }
    if (waiting_ > 0) {
      moved_.notify_all();
    }
    return applied ? std::expected<void, std::string>() : std::unexpected(applied.error());
  } catch (...) {
    make_void(kInPart);
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

bool TableSet::must_wait() const {
  // A log that is resumed must show its last group first: before that no word of the server counts.
  return pauses_ > 0 || is_any_load_full() ||
         (!applier_->is_expecting() && std::ranges::any_of(tables_, [](const TablePlace& followed) {
           return followed.is_in_step() && followed.current->feed.has_too_many_erasures();
         }));
}

bool TableSet::is_any_load_full() const {
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
  // MySQL has logged what it has not executed yet.
  const bool is_too_short = position.is_mariadb() && applier_->expects_more_than(position);
  if (!proofs_.add(at, position) || is_too_short) {
    make_void(kOtherLog);
    return;
  }
  prove_what_is_covered();
}

void TableSet::see_committed(const LogPosition& position,
                             const LogPlace& place,
                             const std::set<binlog::Xid>& listed) {
  const std::scoped_lock lock(mutex_);
  if (!applier_ || !why_void_.empty() || applier_->is_expecting()) {
    return;
  }
  const Committed committed{.position = position,
                            .place = place,
                            .has_xa = std::ranges::none_of(listed, [this](const binlog::Xid& xid) {
                              return applier_->xa_state(xid) == XaState::ended;
                            })};
  try {
    for (TablePlace& followed : there()) {
      erase_what_is(committed, followed);
    }
  } catch (...) {
    make_void(kInPart);
    throw;
  }
  moved_.notify_all();
}

void TableSet::erase_what_is(const Committed& committed, TablePlace& followed) {
  if (!followed.is_in_step()) {
    return;
  }
  TableRows& rows = *followed.current;
  if (const auto made = rows.feed.make_erasures(committed); !made) {
    take_out_of_step(rows, made.error());
  }
}

void TableSet::take_out_of_step(TableRows& rows, std::string_view why) {
  applier_->leave(rows.table);
  put_out_of_step(rows.table, why);
}

void TableSet::prove_what_is_covered() {
  if (!why_void_.empty() || applier_->is_expecting()) {
    return;
  }
  const auto at = proofs_.take_proven(applier_->position());
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
  const bool is_idle = applier_ && applier_->is_idle();
  for (TablePlace& followed : there()) {
    followed.feed->report_if_stale(now);
    if (is_idle && followed.is_in_step() && !followed.is_being_read) {
      followed.feed->forget_isolated();
    }
    if (followed.is_due && followed.feed->live().take_rebuild_request()) {
      followed.due_at = now;  // somebody knows that it need not wait
    }
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
    if (is_refused_) {
      followed.feed->report(State::down, why);
    } else {
      followed.feed->report_unless_refused(State::down, why);
    }
  }
  if (patterned_.doubt()) {
    report_patterned(State::down, why);
  }
}

void TableSet::forget_position() {
  const std::scoped_lock lock(mutex_);
  make_void("the server has refused to be followed");
  patterned_.begin_doubt();
}

void TableSet::report_refused(std::string_view why) {
  const std::scoped_lock lock(mutex_);
  is_refused_ = true;
  status_.refused(why);
  for (TablePlace& followed : there()) {
    followed.feed->refuse(State::refused, why);
  }
  report_patterned(State::refused, why);
}

void TableSet::expire_all() {
  const std::scoped_lock lock(mutex_);
  for (TablePlace& followed : there()) {
    followed.feed->expire();
  }
}

// --- with the lock held ---

// For want of tables that could say it.
void TableSet::report_patterned(State state, std::string_view why) {
  for (const Target& target : patterned_.targets()) {
    feeds_.report(target, std::string(why), state);
  }
}

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
      const bool is_current = rows == followed.current.get();
      if (is_current) {
        followed.feed->expire();
      }
      rows->why_out_of_step = why;
      const TimePoint now = clock_();
      if (followed.is_being_read) {  // whoever reads it publishes it, or fails
        if (is_current) {
          followed.feed->report(State::loading, why);
        }
        continue;
      }
      const Reread next = reread(followed, now - followed.published_at, why);
      followed.feed->report(State::loading, next.why);
      followed.is_due = true;
      followed.due_at = now + next.pause;
    }
  }
}

// Not all guards of a database at once; and none of them again and again.
TableSet::Reread TableSet::reread(TablePlace& followed,
                                  std::chrono::nanoseconds in_step,
                                  std::string_view why) {
  const auto pause = followed.pace.next(in_step);
  if (!pause) {
    return {.pause = some_of(kRereadDelayMax), .why = std::string(why)};
  }
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(*pause);
  Reread next{.pause = *pause,
              .why = std::string(why) + "; this comes too often: the table is read again in " +
                     std::to_string(seconds.count()) + " s"};
  followed.feed->warn(next.why);
  return next;
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

void TableSet::wait_for_pauses(Lock& lock) {
  moved_.wait(lock, [this] { return pauses_ == 0; });
}

bool TableSet::wait(Lock& lock, const std::stop_token& stop, const std::function<bool()>& until) {
  ++waiting_;
  const bool is_so = moved_.wait_for(lock, stop, kViewWaitMax, until);
  --waiting_;
  return is_so && !stop.stop_requested();
}

}  // namespace cuckooguard::source
