#include "sqlite/log_table.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>
#include <vector>

#include "source/chosen_deletes.h"
#include "sqlite/snapshot.h"

namespace cuckooguard::source {
namespace {

using filter::EraseOutcome;
using filter::InsertOutcome;
using filter::State;

constexpr int kDoublingsMax = 20;
constexpr int kLoadsBetweenWorn = 10;

}  // namespace

void SqliteLogTable::begin_anew(State state, std::string_view why) {
  feed_.expire();
  feed_.report(state, why);
  table_.reset();
  is_in_step_ = false;
  is_refused_ = false;
  read_at_ = {};
}

std::expected<bool, SqliteError> SqliteLogTable::plan(const SqliteDatabase& database,
                                                      const MissingWords& words) {
  auto table = plan_logged_table(database, target(), feed_.table());
  if (!table) {
    if (const auto* why = std::get_if<std::string>(&table.error())) {
      refuse(*why);
      return true;
    }
    return std::unexpected(std::get<SqliteError>(std::move(table.error())));
  }
  std::vector<LogObject> wanted = log_objects();
  std::ranges::move(table->triggers(), std::back_inserter(wanted));
  const auto missing = missing_objects(database, wanted);
  if (!missing) {
    return std::unexpected(missing.error());
  }
  if (!missing->empty()) {
    refuse(words(missing->front()));
    return false;
  }
  table_ = *std::move(table);
  return true;
}

void SqliteLogTable::refuse(std::string_view why) {
  feed_.expire();
  feed_.refuse(State::refused, why);
  is_in_step_ = false;
}

SqliteLogTable::Done SqliteLogTable::gather(SqliteLogReader& log,
                                            const SqliteDatabase& database,
                                            const LogMark& from) {
  touched_ = TouchedRows();
  if (!is_in_step_ || !table_) {
    return {};
  }
  auto touched = log.read(database, *table_, feed_, from);
  if (touched) {
    touched_ = *std::move(touched);
    return {};
  }
  if (auto* error = std::get_if<SqliteError>(&touched.error())) {
    return std::unexpected(std::move(*error));
  }
  touched_ = std::unexpected(std::get<std::string>(std::move(touched.error())));
  return {};
}

void SqliteLogTable::insert() {
  if (!is_in_step_) {
    return;
  }
  if (!touched_) {
    put_out_of_step(touched_.error() + ": reading all rows");
    return;
  }
  bool is_full = false;
  const TimePoint read_at = clock_();
  std::vector<std::uint64_t> rows;
  touched_->for_each_insert([&](std::uint64_t hash) {
    is_full = is_full || feed_.live().insert(hash) == InsertOutcome::full;
    if (rows.size() < filter::AbsentReads::kCommits) {
      rows.push_back(hash);
    }
  });
  feed_.live().committed(rows, {.since = proven_at_, .by = read_at});
  if (is_full) {
    put_out_of_step("the filter is full: it is built again, larger");
    return;
  }
  feed_.follow_growth();
}

void SqliteLogTable::erase(TimePoint at) {
  if (!is_in_step_) {
    return;
  }
  bool is_missing = false;
  touched_->for_each_erase([&](std::uint64_t hash) {
    is_missing = is_missing || feed_.live().erase(hash) == EraseOutcome::not_found;
  });
  if (is_missing) {
    put_out_of_step("the trigger log takes a row away that the filter does not have");
    return;
  }
  is_worn_ = feed_.live().writable()->stats().rebuild_needed &&
             at - in_step_since_ > std::max(kSteadyAfter, kLoadsBetweenWorn * load_time_);
}

void SqliteLogTable::put_out_of_step(std::string_view why) {
  if (!is_in_step_) {
    return;
  }
  feed_.expire();
  feed_.report(State::loading, why);
  is_in_step_ = false;
  if (clock_() - in_step_since_ > kSteadyAfter) {
    failures_ = 0;
  }
  pause();
}

// None the first time.
void SqliteLogTable::pause() {
  if (failures_ > 0) {
    const Duration longer = kReadAgainMin * (1 << std::min(failures_ - 1, kDoublingsMax));
    read_at_ = clock_() + std::min(std::max(longer, kLoadsPerPause * load_time_), kReadAgainMax);
  }
  ++failures_;
}

bool SqliteLogTable::is_due(TimePoint now) const {
  if (!table_ || is_refused_) {
    return false;
  }
  return is_in_step_ ? is_worn_ : now >= read_at_;
}

SqliteLogTable::Done SqliteLogTable::load(const SqliteDatabase& database,
                                          const std::stop_token& stop,
                                          const std::function<void()>& at_check) {
  const TimePoint begun = clock_();
  feed_.snapshot_begins(begun);
  is_in_step_ = false;
  is_worn_ = false;
  SqliteSnapshot snapshot(database, stop, at_check);
  const bool identity_is_unique = table_ && table_->identity_is_unique;
  auto done =
      snapshot.read(feed_, chosen_deletes(target().settings.filter.deletes, identity_is_unique));
  const TimePoint ended = clock_();
  load_time_ = ended - begun;
  if (done && feed_.is_loaded()) {
    is_in_step_ = true;
    in_step_since_ = ended;
  } else {
    feed_.expire();
    pause();
    is_refused_ = done.has_value();
  }
  return done;
}

void SqliteLogTable::has_read(Version version) {
  if (is_refused_) {
    refused_version_ = version;
  }
}

void SqliteLogTable::sees(Version version) {
  if (is_refused_ && refused_version_ != version) {
    is_refused_ = false;
  }
}

void SqliteLogTable::prove(TimePoint at) {
  if (is_in_step_) {
    feed_.measure_growth(at);
    feed_.forget_isolated();
    feed_.prove(at);
    proven_at_ = at;
    is_worn_ = feed_.live().take_rebuild_request() || is_worn_;
  }
}

void SqliteLogTable::report_delay(TimePoint now, std::string_view why) {
  if (!is_in_step_) {
    feed_.report_unless_refused(State::loading, why);
  }
  feed_.report_if_stale(now);
}

void SqliteLogTable::report_refused(std::string_view why) {
  if (!table_) {
    feed_.report(State::refused, why);
  }
}

}  // namespace cuckooguard::source
