#include "stream/streamed_table.h"

#include <memory>
#include <utility>

#include <fmt/format.h>

#include "text/try.h"

namespace cuckooguard::source::stream {
namespace {

using debezium::Op;
using debezium::Snapshot;
using debezium::Value;
using filter::State;

constexpr std::size_t kMovesAtOnce = std::size_t{1} << 20;

bool says_it_begins(Snapshot snapshot) {
  return snapshot == Snapshot::first || snapshot == Snapshot::first_of_table;
}

bool says_it_ends(Snapshot snapshot) {
  return snapshot == Snapshot::last || snapshot == Snapshot::last_of_table;
}

}  // namespace

void StreamedTable::snapshot_row(const Change& row, bool is_whole, std::uint64_t rows) {
  if (row.snapshot == Snapshot::incremental) {
    apply(row);
    return;
  }
  const bool ends = says_it_ends(row.snapshot);
  if (begins_snapshot(row, is_whole)) {
    wants_rows_again_ = false;
    phase_ = feed_->begin(rows, filter::DeleteMode::exact) == Feed::Intake::taken ? Phase::loading
                                                                                  : Phase::waiting;
  } else if (phase_ != Phase::loading && !is_within_snapshot_) {
    doubt("the stream begins in the middle of a snapshot: let Debezium take another one");
  }
  is_within_snapshot_ = !ends;
  if (phase_ != Phase::loading) {
    return;
  }
  load(row);
  if (ends) {
    end_snapshot();
  }
}

// Of a table of one row that says only that it is the last.
bool StreamedTable::begins_snapshot(const Change& row, bool is_whole) const {
  const bool is_first_seen = !is_within_snapshot_ && (is_whole || phase_ == Phase::following);
  return says_it_begins(row.snapshot) || (says_it_ends(row.snapshot) && is_first_seen);
}

void StreamedTable::load(const Change& row) {
  const auto counts = holds(row.after);
  if (counts && !*counts) {
    return;
  }
  const auto values =
      counts ? values_of(row.after, plan_.identity) : std::unexpected(counts.error());
  if (!values) {
    doubt(values.error());
  } else if (feed_->add(*values) == Feed::Intake::refused) {
    phase_ = Phase::waiting;  // the feed says why
  }
}

void StreamedTable::end_snapshot() {
  if (phase_ != Phase::loading) {
    return;
  }
  if (feed_->complete() == Feed::Intake::too_small) {
    phase_ = Phase::waiting;
    wants_rows_again_ = true;
    return;
  }
  phase_ = Phase::following;
}

// What was loaded of one that was broken off may be anything.
void StreamedTable::log_goes_on() {
  if (phase_ == Phase::loading) {
    doubt(
        "a snapshot ends without a row that says so: let Debezium take another one (such rows "
        "come from Debezium 2 on)");
  }
  is_within_snapshot_ = false;
}

void StreamedTable::apply(const Change& change) {
  if (phase_ != Phase::following) {
    return;
  }
  if (change.op == Op::truncate) {
    clear();
    return;
  }
  if (const auto changed = change_row(change); !changed) {
    doubt(changed.error());
  }
}

std::expected<void, std::string> StreamedTable::change_row(const Change& change) {
  const bool has_row_now = change.op != Op::remove;
  const Hash now = has_row_now ? TRY(hash_of(change.after, true)) : Hash();
  if (change.op == Op::create) {
    if (now) {
      insert(*now);
    }
    return {};
  }
  filter::LiveFilter& live = feed_->live();
  const bool is_read = change.op == Op::read;
  const Hash was = is_read ? now : TRY(hash_before(change));
  if (now && (now != was || live.writable()->count(*now) == 0)) {
    insert(*now);
  }
  if (was && was != now) {
    live.erase(*was);
  }
  return {};
}

// What it was to the filter. A row's primary key is the same before and after an update.
std::expected<StreamedTable::Hash, std::string> StreamedTable::hash_before(const Change& change) {
  if (plan_.has_whole_before) {
    if (change.before.empty()) {
      return std::unexpected("a change comes without the row as it was");
    }
    return hash_of(change.before, false);
  }
  return feed_->hash_of(TRY(values_of(change.key, plan_.identity)), false);
}

std::expected<StreamedTable::Hash, std::string> StreamedTable::hash_of(Row row, bool counts) {
  if (!TRY(holds(row))) {
    return Hash();
  }
  return feed_->hash_of(TRY(values_of(row, plan_.identity)), counts);
}

std::expected<bool, std::string> StreamedTable::holds(Row row) {
  const auto& condition = feed_->target().settings.source.where;
  return condition.holds(TRY(values_of(row, plan_.condition)));
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
      fmt::format("a message lacks column {} of the row", plan_.wanted.columns[column].name));
}

void StreamedTable::insert(std::uint64_t hash) {
  filter::LiveFilter& live = feed_->live();
  if (live.insert(hash) == filter::InsertOutcome::full || live.writable()->stats().rebuild_needed) {
    grow();
  }
}

// All that is counted goes into a larger one; look-ups are in this one until then.
void StreamedTable::grow() {
  filter::LiveFilter& live = feed_->live();
  filter::CuckooFilter& before = *live.writable();
  const filter::Sizing& sizing = before.sizing();
  const std::uint64_t rows = before.digest().count;
  auto next = std::make_unique<filter::CuckooFilter>(
      filter::sizing_for(
          sizing.layout, filter::automatic_capacity(rows + rows / 2), filter::DeleteMode::exact),
      before.secret());
  while (before.give_some(kMovesAtOnce, *next)) {
  }
  live.publish(std::move(next));
}

// TRUNCATE: nothing is left.
void StreamedTable::clear() {
  if (feed_->begin(0, filter::DeleteMode::exact) != Feed::Intake::taken ||
      feed_->complete() != Feed::Intake::taken) {
    doubt("TRUNCATE");
  }
}

// What is not understood may have been the first row of a snapshot.
void StreamedTable::doubt(std::string_view why) {
  phase_ = Phase::waiting;
  is_within_snapshot_ = true;
  feed_->expire();
  feed_->refuse(State::unsynced, why);
}

void StreamedTable::begin_anew(std::string_view why) {
  phase_ = Phase::waiting;
  is_within_snapshot_ = false;
  wants_rows_again_ = false;
  feed_->expire();
  feed_->report(State::loading, why);
}

void StreamedTable::prove(TimePoint at) {
  if (phase_ == Phase::following) {
    feed_->follow_growth();
    feed_->measure_growth(at);
    feed_->forget_isolated();
    feed_->prove(at);
  }
}

}  // namespace cuckooguard::source::stream
