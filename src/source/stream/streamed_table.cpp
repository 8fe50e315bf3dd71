#include "stream/streamed_table.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "text/number.h"
#include "text/try.h"

namespace cuckooguard::source::stream {
namespace {

using debezium::Op;
using debezium::Snapshot;
using debezium::Value;
using filter::State;

constexpr std::string_view kNeedsSnapshot =
    "; all keys pass until Debezium takes another snapshot of it";

constexpr std::uint64_t kOfChannel = 0x9E3779B97F4A7C15;
constexpr std::uint64_t kRoundsApart = 2;
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

bool says_it_begins(Snapshot snapshot) {
  return snapshot == Snapshot::first || snapshot == Snapshot::first_of_table;
}

bool says_it_ends(Snapshot snapshot) {
  return snapshot == Snapshot::last || snapshot == Snapshot::last_of_table;
}

}  // namespace

void StreamedTable::begin_anew(std::size_t channels, std::string_view why) {
  forget_rows();
  is_within_snapshot_ = false;
  channels_ = channels;
  is_from_beginning_ = true;
  has_begun_ = plan_.is_whole;
  feed_->report(State::loading, why);
}

void StreamedTable::lacks_beginning() {
  if (is_from_beginning_) {
    is_from_beginning_ = has_begun_ = false;
    is_within_snapshot_ = true;
    ended_ = Ended::no;  // as notifications said, that were read before
    notified_ = {};
    feed_->report(State::loading,
                  "waiting for a snapshot: the stream's first entries had been removed");
  }
}

void StreamedTable::doubt(std::string_view why) {
  const bool is_told = is_in_doubt_;
  forget_rows();
  is_in_doubt_ = true;
  if (!is_told) {
    feed_->refuse(State::unsynced, std::string(why) + std::string(kNeedsSnapshot));
  }
}

void StreamedTable::go_back(std::string_view why) {
  if (is_following_) {
    is_following_ = false;
    ended_ = Ended::no;
    feed_->expire();
    feed_->refuse(State::unsynced, std::string(why) + std::string(kNeedsSnapshot));
  }
}

// From now on they are known.
void StreamedTable::forget_rows() {
  rows_ = {};
  erasures_.clear();
  torn_until_ = {};
  is_from_beginning_ = has_begun_ = is_following_ = is_in_doubt_ = false;
  caught_up_ = 0;
  snapshot_rows_ = 0;
  ended_ = Ended::no;
  begun_id_.clear();
  notified_ = {};
  first_row_ms_ = 0;
  is_within_snapshot_ = true;
  feed_->expire();
  feed_->begin_to_collect(false);
}

bool StreamedTable::snapshot_begins(std::string_view id) {
  notified_.scan.reset();  // of one that was broken off
  if (has_caught_up()) {
    has_begun_ = true;
    begun_id_ = id;
  }
  return has_caught_up();
}

// One that had begun before may have read this table before.
void StreamedTable::scan_ends(std::string_view id, std::uint64_t rows) {
  if (is_from_beginning_ || (has_begun_ && begun_id_ == id)) {
    notified_.scan = id;
    notified_.rows_needed =
        id.empty() ? rows : std::min<std::uint64_t>(rows, 1);  // some have changed since
  }
}

void StreamedTable::snapshot_ends(std::string_view id, std::int64_t ms) {
  if (notified_.scan == id) {
    notified_.ended_ms = ms;
    has_begun_ = true;
    if (ms >= first_row_ms_) {
      end();
    }
  }
}

void StreamedTable::end() {
  if (has_begun_ && !is_following_) {
    ended_ = Ended::just_now;
  }
}

// In one channel nothing of a snapshot comes before its first row, and what is behind that tells
// of all rows. What notifications say of this snapshot may have been read before.
void StreamedTable::note_snapshot(const Change& change) {
  const bool is_only_row = says_it_ends(change.snapshot) && !is_within_snapshot_ && channels_ == 1;
  const bool begins = says_it_begins(change.snapshot) || is_only_row;
  if (change.snapshot != Snapshot::incremental) {
    is_within_snapshot_ = change.snapshot != Snapshot::no && !says_it_ends(change.snapshot);
  }
  if (!begins) {
    return;
  }
  if (channels_ > 1) {
    has_begun_ = has_begun_ || has_caught_up();
    return;
  }
  const bool is_within = is_within_snapshot_;
  Notified notified = std::exchange(notified_, {});
  forget_rows();
  is_within_snapshot_ = is_within;
  has_begun_ = true;
  first_row_ms_ = text::number_of<std::int64_t>(change.connector_ms).value_or(kNever);
  notified_ = std::move(notified);
  if (const auto ended_ms = std::exchange(notified_.ended_ms, std::nullopt)) {
    snapshot_ends(notified_.scan.value_or(""), *ended_ms);
  }
  feed_->report(State::loading, "reading a snapshot");
}

std::expected<void, std::string> StreamedTable::take(const Change& change, std::size_t channel) {
  note_snapshot(change);
  snapshot_rows_ += change.op == Op::read ? 1 : 0;
  TRY(change.op == Op::truncate ? truncate() : change_row(change, channel));
  if (says_it_ends(change.snapshot)) {
    end();
  }
  return {};
}

std::expected<void, std::string> StreamedTable::change_row(const Change& change,
                                                           std::size_t channel) {
  if (change.key_json.empty()) {
    return std::unexpected(
        "its messages have no key: give the table a primary key, or set message.key.columns to "
        "columns that no two rows share");
  }
  const Hash now = change.op == Op::remove ? Hash() : TRY(hash_of(change.after));
  set_row(digest_(change.key_json) ^ (channel * kOfChannel),
          now,
          change.snapshot == Snapshot::no ? change.source_ms : std::string_view());
  return {};
}

void StreamedTable::set_row(std::uint64_t digest, Hash now, std::string_view committed_ms) {
  const auto found = rows_.find(digest);
  const Hash was = found == rows_.end() ? Hash() : Hash(found->second);
  if (was == now) {
    return;
  }
  if (now) {
    rows_.insert_or_assign(digest, *now);
  } else {
    rows_.erase(found);
  }
  if (was) {
    erase_later(*was, committed_ms);
  }
  filter::LiveFilter& live = feed_->live();
  if (is_following_ && now &&
      (live.insert(*now) == filter::InsertOutcome::full ||
       live.writable()->stats().rebuild_needed)) {
    publish(rows_.size() + rows_.size() / 2);
  }
}

void StreamedTable::erase_later(std::uint64_t hash, std::string_view committed_ms) {
  const auto committed = text::number_of<std::int64_t>(committed_ms).value_or(0);
  erasures_.push_back(
      {.by = {.at = std::chrono::milliseconds(committed), .round = rounds_}, .hash = hash});
  if (erasures_.size() > kErasuresMax) {
    erasures_.pop_front();
    has_too_much_ = true;
  }
}

void StreamedTable::erase_what_is_due(const Commit& covered) {
  while (!erasures_.empty() && erasures_.front().by.at < covered.at &&
         erasures_.front().by.round + kRoundsApart <= covered.round) {
    if (is_following_) {
      feed_->live().erase(erasures_.front().hash);
    }
    erasures_.pop_front();
  }
  if (is_following_ && has_too_much_ && erasures_.empty()) {
    publish(rows_.size());
  }
}

// Of several channels it comes in one, and nobody knows what is before it in the others.
std::expected<void, std::string> StreamedTable::truncate() {
  if (channels_ > 1) {
    return std::unexpected("TRUNCATE came in one of several partitions");
  }
  rows_ = {};
  erasures_.clear();
  if (is_following_) {
    publish(0);
  }
  return {};
}

std::expected<StreamedTable::Hash, std::string> StreamedTable::hash_of(Row row) {
  const auto& condition = feed_->target().settings.source.where;
  if (!condition.holds(TRY(values_of(row, plan_.condition)))) {
    return Hash();
  }
  return feed_->hash_of(TRY(values_of(row, plan_.identity)));
}

std::expected<StreamedTable::Values, std::string> StreamedTable::values_of(
    Row row, std::span<const std::size_t> columns) {
  values_.clear();
  for (const std::size_t column : columns) {
    values_.push_back(TRY(value_of(row, column)));
  }
  return values_;
}

std::expected<std::optional<std::string_view>, std::string> StreamedTable::value_of(
    Row row, std::size_t column) {
  const Value value = column < row.size() ? row[column] : Value();
  switch (value.state) {
    case Value::State::text:
      return value.text;
    case Value::State::null:
      return std::nullopt;
    case Value::State::missing:
    case Value::State::unavailable:
      break;
  }
  return std::unexpected(
      fmt::format("a message lacks column {} of the row", wanted_->columns[column].name));
}

void StreamedTable::caught_up(bool is_replaying) {
  ++rounds_;
  caught_up_ = static_cast<std::uint8_t>(std::min(caught_up_ + 1, 2));
  if (is_following_ || is_replaying || channels_ == 0 || snapshot_rows_ < notified_.rows_needed ||
      (ended_ != Ended::before && !(plan_.is_whole && is_from_beginning_))) {
    ended_ = ended_ == Ended::just_now ? Ended::before : ended_;
    return;
  }
  is_following_ = publish(rows_.size());
  is_in_doubt_ = is_in_doubt_ && !is_following_;
}

// All rows that are known, and what has yet to be erased, in a filter with this much room.
bool StreamedTable::publish(std::uint64_t room) {
  FilterLoad load = feed_->load();
  do {
    if (load.begin(room, filter::DeleteMode::exact) == Intake::refused) {
      doubt(load.why_refused());
      return false;
    }
    for (const auto& [digest, hash] : rows_) {
      load.add(hash);
    }
    for (const Erasure& each : erasures_) {
      load.add(each.hash);
    }
  } while (load.complete() == Intake::too_small);
  FilterLoad::Loaded loaded = load.take();
  loaded.isolated = feed_->live().writable_isolated();
  feed_->publish(std::move(loaded));
  has_too_much_ = has_too_much_ && !erasures_.empty();
  return true;
}

std::chrono::milliseconds StreamedTable::torn_until() const {
  std::chrono::milliseconds last = torn_until_;
  for (const Erasure& each : erasures_) {
    last = std::max(last, each.by.at);
  }
  return last;
}

void StreamedTable::restore(std::size_t channels,
                            Rows rows,
                            filter::IsolatedRows isolated,
                            std::chrono::milliseconds torn_until) {
  forget_rows();
  torn_until_ = torn_until;
  channels_ = channels;
  rows_ = std::move(rows);
  has_begun_ = true;
  feed_->live().set_isolated(std::move(isolated));
  is_following_ = publish(rows_.size());
}

void StreamedTable::prove(TimePoint at, const Commit& covered) {
  erase_what_is_due(covered);
  if (is_following_ && covered.at > torn_until_) {
    feed_->follow_growth();
    feed_->measure_growth(at);
    feed_->forget_isolated();
    feed_->prove(at);
  }
}

}  // namespace cuckooguard::source::stream
