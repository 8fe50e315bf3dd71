#include "sqlite/log_follower.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>
#include <variant>

#include "source/filter_load.h"
#include "text/little_endian.h"
#include "text/try.h"

namespace cuckooguard::source::sqlite {

bool TouchedRows::add(const RowName& name, std::uint64_t hash, Event event, bool is_there) {
  const bool was_there = event != Event::came;
  const auto [found, is_first] =
      rows_.try_emplace(name, Row{.hash = hash, .was_there = was_there, .is_there = is_there});
  Row& row = found->second;
  const Logged impossible = was_there ? Logged::absent : Logged::present;
  if (!is_first && row.logged == impossible) {
    return false;
  }
  switch (event) {
    case Event::gone:
      row.logged = Logged::absent;
      break;
    case Event::seen:
      row.logged = Logged::either;
      break;
    case Event::came:
      row.logged = Logged::present;
      break;
  }
  return true;
}

bool TouchedRows::is_explained() const {
  return std::ranges::all_of(rows_, [](const auto& entry) {
    const Row& row = entry.second;
    return row.logged == Logged::either || (row.logged == Logged::present) == row.is_there;
  });
}

namespace {

using filter::EraseOutcome;
using filter::InsertOutcome;
using filter::State;

constexpr int kDoublingsMax = 20;
constexpr int kLoadsBetweenWorn = 10;

std::string missing_words(const LogObject& missing, const std::string& path) {
  return "the trigger log is missing or does not fit this configuration (\"" + missing.name +
         "\"): " + how_to_install(path);
}

}  // namespace

void LogTable::begin_anew(State state, std::string_view why) {
  feed_.expire();
  feed_.report(state, why);
  table_.reset();
  is_in_step_ = false;
  is_refused_ = false;
  read_at_ = {};
}

Expected<bool> LogTable::plan(const Database& database, const MissingWords& words) {
  auto table = plan_logged_table(database, target(), feed_.table());
  if (!table) {
    if (const auto* why = std::get_if<std::string>(&table.error())) {
      refuse(*why);
      return true;
    }
    return std::unexpected(std::get<Error>(std::move(table.error())));
  }
  std::vector<LogObject> wanted = log_objects();
  std::ranges::move(table->triggers(), std::back_inserter(wanted));
  const auto missing = TRY(missing_objects(database, wanted));
  if (!missing.empty()) {
    refuse(words(missing.front()));
    return false;
  }
  table_ = *std::move(table);
  return true;
}

void LogTable::refuse(std::string_view why) {
  feed_.expire();
  feed_.refuse(State::refused, why);
  is_in_step_ = false;
}

Done LogTable::gather(LogReader& log, const Database& database, const LogMark& from) {
  touched_ = TouchedRows();
  if (!is_in_step_ || !table_) {
    return {};
  }
  auto touched = log.read(database, *table_, feed_, from);
  if (touched) {
    touched_ = *std::move(touched);
    return {};
  }
  if (auto* error = std::get_if<Error>(&touched.error())) {
    return std::unexpected(std::move(*error));
  }
  touched_ = std::unexpected(std::get<std::string>(std::move(touched.error())));
  return {};
}

void LogTable::insert() {
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
    put_out_of_step("the filter is full: rebuilding it with more room");
    return;
  }
  feed_.follow_growth();
}

void LogTable::erase(TimePoint at) {
  if (!is_in_step_) {
    return;
  }
  bool is_missing = false;
  touched_->for_each_erase([&](std::uint64_t hash) {
    is_missing = is_missing || feed_.live().erase(hash) == EraseOutcome::not_found;
  });
  if (is_missing) {
    put_out_of_step("the trigger log deletes a row that the filter does not contain");
    return;
  }
  is_worn_ = feed_.live().writable()->stats().rebuild_needed &&
             at - in_step_since_ > std::max(kSteadyAfter, kLoadsBetweenWorn * load_time_);
}

void LogTable::put_out_of_step(std::string_view why) {
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
void LogTable::pause() {
  if (failures_ > 0) {
    const Duration longer = kReadAgainMin * (1 << std::min(failures_ - 1, kDoublingsMax));
    read_at_ = clock_() + std::min(std::max(longer, kLoadsPerPause * load_time_), kReadAgainMax);
  }
  ++failures_;
}

bool LogTable::is_due(TimePoint now) const {
  if (!table_ || is_refused_) {
    return false;
  }
  return is_in_step_ ? is_worn_ : now >= read_at_;
}

Done LogTable::load(const Database& database,
                    const std::stop_token& stop,
                    const std::function<void()>& at_check) {
  const TimePoint begun = clock_();
  feed_.snapshot_begins(begun);
  is_in_step_ = false;
  is_worn_ = false;
  SnapshotReader snapshot(database, stop, at_check);
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

void LogTable::has_read(Version version) {
  if (is_refused_) {
    refused_version_ = version;
  }
}

void LogTable::sees(Version version) {
  if (is_refused_ && refused_version_ != version) {
    is_refused_ = false;
  }
}

void LogTable::prove(TimePoint at) {
  if (is_in_step_) {
    feed_.measure_growth(at);
    feed_.forget_isolated();
    feed_.prove(at);
    proven_at_ = at;
    is_worn_ = feed_.live().take_rebuild_request() || is_worn_;
  }
}

void LogTable::report_delay(TimePoint now, std::string_view why) {
  if (!is_in_step_) {
    feed_.report_unless_refused(State::loading, why);
  }
  feed_.report_if_stale(now);
}

void LogTable::report_refused(std::string_view why) {
  if (!table_) {
    feed_.report(State::refused, why);
  }
}

std::vector<Refusal> LogFollower::check(const LogFollowerSettings& settings,
                                        std::span<const Target> targets) {
  DatabaseOrigin origin(settings.path);
  if (auto refusals = origin.check(targets); !refusals.empty()) {
    return refusals;
  }
  std::vector<LogObject> missing;
  const auto read = [&](const Database& database) -> Done {
    auto found = missing_log(database, targets);
    if (found) {
      missing = *std::move(found);
    } else if (const auto* error = std::get_if<Error>(&found.error())) {
      return std::unexpected(*error);
    }
    return {};
  };
  const Snapshot taken = origin.take(read, {});
  if (taken.kind == Snapshot::Kind::lost) {
    return {{.ns = "", .what = taken.why}};
  }
  if (missing.empty()) {  // or a writer is in the way, which is no reason not to start
    return {};
  }
  if (!settings.install_triggers) {
    return {{.ns = "", .what = missing_words(missing.front(), settings.path)}};
  }
  const auto installed = install_trigger_log(settings.path, targets, kInstallPatience);
  if (installed || installed.error().is_busy()) {
    return {};
  }
  return {{.ns = "",
           .what = "cannot install the triggers (" + installed.error().what +
                   "): " + how_to_install(settings.path)}};
}

LogFollower::LogFollower(LogFollowerSettings settings,
                         Feeds feeds,
                         Clock clock,
                         DatabaseOrigin::At at)
    : settings_(std::move(settings)),
      origin_(settings_.path, at),
      clock_(std::move(clock)),
      at_(std::move(at)) {
  tables_.reserve(feeds.size());
  for (Feed& feed : feeds) {
    tables_.emplace_back(std::move(feed), clock_);
  }
}

std::chrono::nanoseconds LogFollower::step(const std::stop_token& stop) {
  try {
    return next(stop);
  } catch (const std::exception& trouble) {  // as if the database were gone: pass, and try again
    return lose(trouble.what());
  }
}

void LogFollower::finish() {
  for (LogTable& table : tables_) {
    table.expire();
  }
}

LogFollower::Duration LogFollower::next(const std::stop_token& stop) {
  install_if_due(clock_());
  const bool is_wanted = settings_.asking.begin();  // before t: later readers want another one
  is_there_ = true;
  is_proven_ = false;
  const Duration pause = look(clock_(), stop);
  if (is_wanted && !is_proven_) {
    settings_.asking.want();
  }
  return pause;
}

// `before`: the t of the proof.
LogFollower::Duration LogFollower::look(TimePoint before, const std::stop_token& stop) {
  const Sighting sighting = origin_.look();
  if (sighting.kind == Sighting::Kind::lost) {
    return lose(sighting.why);
  }
  if (sighting.kind == Sighting::Kind::unclear) {
    for (LogTable& table : tables_) {
      table.report_delay(before, sighting.why);
    }
    return settings_.poll_every;
  }
  if (connection_ != origin_.connection()) {
    connection_ = origin_.connection();
    begin_anew(State::loading, "the database was opened: reading its rows");
  }
  bool is_anything_due = sighting.version != version_;
  for (LogTable& table : tables_) {
    table.sees(sighting.version);
    is_anything_due = is_anything_due || table.is_due(before);
  }
  if (is_anything_due) {
    return catch_up(before, stop);
  }
  backoff_.succeeded();
  prove(before);
  return settings_.poll_every;
}

void LogFollower::prove(TimePoint at) {
  is_proven_ = true;
  settings_.asking.serves_strict(true);
  for (LogTable& table : tables_) {
    table.prove(at);
  }
  settings_.asking.proven();
}

LogFollower::Duration LogFollower::catch_up(TimePoint at, const std::stop_token& stop) {
  const auto read_all = [&](const Database& database) { return read(database, at, stop); };
  const Snapshot taken = origin_.take(read_all, stop);
  switch (taken.kind) {
    case Snapshot::Kind::stopped:
      return Duration::zero();
    case Snapshot::Kind::lost:
      return lose(taken.why);
    case Snapshot::Kind::unclear:
      for (LogTable& table : tables_) {
        table.report_delay(at, taken.why);
      }
      return settings_.poll_every;
    case Snapshot::Kind::taken:
      break;
  }
  version_ = taken.version;
  backoff_.succeeded();
  for (LogTable& table : tables_) {
    table.has_read(taken.version);
  }
  prove(at);
  return settings_.poll_every;
}

Done LogFollower::read(const Database& database, TimePoint at, const std::stop_token& stop) {
  TRY(plan(database));
  if (std::ranges::none_of(tables_, &LogTable::is_planned)) {
    return {};
  }
  TRY(follow_log(database, at));
  for (LogTable& table : tables_) {
    if (!table.is_due(at)) {
      continue;
    }
    const auto at_check = [this] {
      if (at_) {
        at_(SnapshotPoint::row);
      }
    };
    TRY(table.load(database, stop, at_check));
  }
  return {};
}

Done LogFollower::plan(const Database& database) {
  const auto schema = TRY(number(database, "PRAGMA schema_version"));
  if (schema_ == schema) {
    return {};
  }
  if (schema_) {
    begin_anew(State::loading, "the schema has changed: reading the rows again");
  }
  log_is_missing_ = false;
  const auto words = [this](const LogObject& missing) {
    return missing_words(missing, settings_.path);
  };
  for (LogTable& table : tables_) {
    const auto has_log = TRY(table.plan(database, words));
    log_is_missing_ = log_is_missing_ || !has_log;
  }
  schema_ = schema;
  return {};
}

Done LogFollower::follow_log(const Database& database, TimePoint at) {
  TRY(check_position(database));
  const std::optional<LogMark> mark = TRY(newest_mark(database));
  if (!mark) {
    schema_.reset();  // all anew as soon as there is a row
    for (LogTable& table : tables_) {
      table.begin_anew(State::unsynced,
                       "the trigger log is empty: the guard follows it from its next row on");
    }
    return {};
  }
  for (LogTable& table : tables_) {
    TRY(table.gather(log_, database, position_));
  }
  position_ = *mark;
  for (LogTable& table : tables_) {
    table.insert();
  }
  for (LogTable& table : tables_) {
    table.erase(at);
  }
  return {};
}

Done LogFollower::check_position(const Database& database) {
  if (std::ranges::none_of(tables_, &LogTable::is_in_step)) {
    return {};
  }
  if (!TRY(has_mark(database, position_))) {
    for (LogTable& table : tables_) {
      table.put_out_of_step("the trigger log does not reach back far enough: reading all rows");
    }
  }
  return {};
}

void LogFollower::install_if_due(TimePoint now) {
  if (!settings_.install_triggers || !log_is_missing_ || now < install_at_) {
    return;
  }
  install_at_ = now + kInstallEvery;
  std::vector<Target> targets;
  targets.reserve(tables_.size());
  for (const LogTable& table : tables_) {
    targets.push_back(table.target());
  }
  const auto installed = install_trigger_log(settings_.path, targets, kInstallPatience);
  if (installed) {
    return;  // which is seen as a change of the schema
  }
  for (LogTable& table : tables_) {
    table.report_refused("cannot install the triggers: " + installed.error().what);
  }
}

void LogFollower::begin_anew(State state, std::string_view why) {
  version_.reset();
  schema_.reset();
  for (LogTable& table : tables_) {
    table.begin_anew(state, why);
  }
}

LogFollower::Duration LogFollower::lose(std::string_view why) {
  is_there_ = false;
  begin_anew(State::down, why);
  return backoff_.next();
}

namespace {

using Event = TouchedRows::Event;

Expected<std::optional<LogMark>> mark_of(const Database& database,
                                         std::string_view sql,
                                         std::int64_t seq) {
  auto statement = TRY(database.prepare(sql));
  statement.bind(1, seq);
  const auto row = TRY(statement.step());
  return row ? std::optional(LogMark{.seq = statement.integer(0), .mark = statement.integer(1)})
             : std::nullopt;
}

}  // namespace

Expected<std::optional<LogMark>> newest_mark(const Database& database) {
  return mark_of(
      database,
      "SELECT seq, mark FROM main.cuckooguard_log WHERE seq >= ?1 ORDER BY seq DESC LIMIT 1",
      0);
}

Expected<bool> has_mark(const Database& database, const LogMark& mark) {
  const std::optional<LogMark> found =
      TRY(mark_of(database, "SELECT seq, mark FROM main.cuckooguard_log WHERE seq = ?1", mark.seq));
  return found == mark;
}

LogReader::LogReader() : name_low_(filter::random_secret()), name_high_(filter::random_secret()) {}

Planned<TouchedRows> LogReader::read(const Database& database,
                                     const LoggedTable& table,
                                     Feed& feed,
                                     const LogMark& from) {
  auto changes = TRY(database.prepare(table.changes_sql()));
  changes.bind(1, from.seq);
  changes.bind(2, table.stream());
  TouchedRows touched;
  Row row(table.plan);
  for (;;) {
    if (!TRY(changes.step())) {
      break;
    }
    TRY(add(table, feed, changes, row, touched));
  }
  if (!touched.is_explained()) {
    return std::unexpected("the trigger log does not match the rows of table \"" +
                           table.plan.table + "\"");
  }
  return touched;
}

std::expected<void, std::string> LogReader::add(
    const LoggedTable& table, Feed& feed, const Statement& change, Row& row, TouchedRows& touched) {
  const int values = static_cast<int>(table.values.size());
  const bool is_there = change.integer(values + 1) != 0;
  if (!row.read(change)) {
    // One that has gone again was never in a filter: no filter is loaded while there is such a row.
    return is_there ? std::expected<void, std::string>(std::unexpected(row.refusal()))
                    : std::expected<void, std::string>();
  }
  if (!row.counts()) {
    return {};
  }
  const auto hash = feed.hash_of(row.values());
  if (!hash) {
    return is_there ? std::expected<void, std::string>(std::unexpected(hash.error()))
                    : std::expected<void, std::string>();
  }
  const auto& known = *hash;
  if (!known) {
    return {};  // a NULL: no key can name this row
  }
  const auto event = static_cast<Event>(std::clamp<std::int64_t>(change.integer(values), -1, 1));
  if (!touched.add(name_of(table, change), *known, event, is_there)) {
    return std::unexpected("the trigger log contradicts itself about table \"" + table.plan.table +
                           "\"");
  }
  return {};
}

// All values as they are stored: the text 7 is another row than the BLOB 7, and a row whose
// condition's columns have changed another than before.
RowName LogReader::name_of(const LoggedTable& table, const Statement& change) {
  bytes_.clear();
  for (int column = 0; column < static_cast<int>(table.values.size()); ++column) {
    bytes_ += static_cast<char>(change.type(column));  // before bytes(), which may convert
    text::put_text(bytes_, change.bytes(column));
  }
  return {.low = name_low_(bytes_), .high = name_high_(bytes_)};
}

}  // namespace cuckooguard::source::sqlite
