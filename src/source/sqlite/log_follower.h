// Follows a SQLite database by its trigger log: reads all rows once, and then what the triggers
// have written.
//
//            ┌──── look: same version ────┐  prove
//            ▼                            │
//   start ─▶ following ── look: another version ─▶ one read transaction ─▶ prove ─▶ following
//              └── lost ─▶ expire ─▶ backoff, look: there again ─▶ everything anew
//
// A read transaction sees one moment of the database, in which table and log agree: the triggers
// write in the transaction that changes the table. It reads
//   the schema's number. Another one: perhaps a trigger was gone for a while. Everything is
//   checked, planned and read
//       anew.
//   the log's row at which the guard has stopped. Gone, or with another mark: the log does not go
//   back that far. All
//       tables are read again.
//   every log row behind it, and of each row named there whether the table has it now
//   (TouchedRows). Filters
//       hear of nothing before all of it has been read; then the position is the log's newest row
//       of that moment.
//   all rows of the tables that are out of step: snapshot and position are of one moment by
//   themselves.
// t is read before the look. What was committed before t was there when the transaction began,
// hence it is in the filter: fresh_until = t + max_lag, whether there were changes or not. So a
// database that is written to all the time is answered for all the time.
//
// While a table is read the others are not followed, and pass after max_lag. With a rollback
// journal writers wait for each transaction of ours; WAL is advised.
//
// Threads: the source's. Errors: none; what is wrong is reported by on_state, and passes.
// Limits: kLogRowsMax changes between two looks; more of them cost a snapshot.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "filter/key_hash.h"
#include "source/feeds.h"
#include "source/follower.h"
#include "source/source.h"
#include "source/transaction.h"
#include "sqlite/database.h"
#include "sqlite/origin.h"
#include "sqlite/rows.h"
#include "sqlite/trigger_log.h"

namespace cuckooguard::source::sqlite {

// The rows of one table that a stretch of a trigger log speaks of: what each was before it, from
// the log, and what it is after it, from the table itself.
//
//   came   a row with this identity was put there           nothing -> row
//   gone   a row with this identity was taken away          row -> nothing
//   seen   a row with this identity was there, and what is about to be written may take its place:
//          a REPLACE removes rows without a word (recursive_triggers is off by default), an upsert
//          or IGNORE does not
//
// A row is named by all its logged values: one whose condition's columns change is gone, and
// another has come.
//
// The first entry of a row tells whether it was there before the stretch, the table whether it is
// there now; the filter is told of the difference. So it does not matter what a `seen` has come to,
// nor how often a row was replaced: the filter has one copy of each row.
//
// Must: a row that was not there is never taken for one that was, since the filter would then erase
// what it does not have, and with it perhaps another key. A row that comes is always logged, but a
// trigger of the application that runs in the middle of the insert can have its own changes of that
// row logged first. Then one `came` too many stands behind them: two in a row, or a last one where
// the table has no row. So what does not explain itself is refused, and the table is to be read
// again. Limits: as many rows as the log holds (kLogRowsMax), about 100 bytes each.
class TouchedRows {
 public:
  enum class Event : std::int8_t { gone = -1, seen = 0, came = 1 };

  // The log's next entry. `hash` is the identity's, `is_there` what the table says now. False: this
  // cannot be.
  [[nodiscard]] bool add(const RowName& row, std::uint64_t hash, Event event, bool is_there);

  // After the last entry: the log has led to what the table says.
  [[nodiscard]] bool is_explained() const;

  template <class Insert>
  void for_each_insert(const Insert& insert) const {
    for (const auto& [name, row] : rows_) {
      if (!row.was_there && row.is_there) {
        insert(row.hash);
      }
    }
  }
  // After all inserts, of all tables: no look-up sees a row gone that has only moved.
  template <class Erase>
  void for_each_erase(const Erase& erase) const {
    for (const auto& [name, row] : rows_) {
      if (row.was_there && !row.is_there) {
        erase(row.hash);
      }
    }
  }

 private:
  enum class Logged : std::uint8_t { absent, present, either };

  struct Row {
    std::uint64_t hash = 0;
    bool was_there = false;
    bool is_there = false;
    Logged logged = Logged::either;
  };
  struct NameHash {
    std::size_t operator()(const RowName& name) const { return name.low; }
  };

  std::unordered_map<RowName, Row, NameHash> rows_;
};

// Reads a trigger log: where it ends, whether it still has a place, and what has happened to a
// table since.
//
// Threads: the source's. Errors: TableTrouble; a sentence if the log cannot be right, or a row
// cannot be guarded: then the table is to be read again, which says what is wrong with it.
struct LogMark {  // a row of the log
  std::int64_t seq = 0;
  std::int64_t mark = 0;

  bool operator==(const LogMark&) const = default;
};

// Nothing: the log is empty.
Expected<std::optional<LogMark>> newest_mark(const Database& database);
// Whether the log still has this row: then it has everything behind it, too.
Expected<bool> has_mark(const Database& database, const LogMark& mark);

class LogReader {
 public:
  LogReader();

  // Everything behind `from`.
  Planned<TouchedRows> read(const Database& database,
                            const LoggedTable& table,
                            Feed& feed,
                            const LogMark& from);

 private:
  std::expected<void, std::string> add(const LoggedTable& table,
                                       Feed& feed,
                                       const Statement& change,
                                       Row& row,
                                       TouchedRows& touched);
  RowName name_of(const LoggedTable& table, const Statement& change);

  filter::KeyHash name_low_;
  filter::KeyHash name_high_;
  std::string bytes_;  // of a row, while its name is made
};

// One namespace that follows a trigger log: in step with it, or out of step and to be read again.
//
//   plan ─▶ load ─▶ in step: gather, apply, prove … ─▶ out of step ─▶ pause ─▶ load
//     └─▶ refused, until the schema is another          └── a row that cannot be guarded: until
//                                                           there is a change
//
// Deletes: `auto` is trusted if a unique key lies within the identity (rows with a NULL in it have
// no key, so it need not be NOT NULL), else deferred.
//
// Threads: the source's. Errors: Error if the database itself failed; what is wrong with the
// table is reported by the feed, and passes.
class LogTable {
 public:
  using Duration = std::chrono::nanoseconds;

  static constexpr Duration kReadAgainMin = std::chrono::milliseconds(100);
  static constexpr Duration kReadAgainMax = std::chrono::seconds(30);
  static constexpr int kLoadsPerPause = 3;
  static constexpr Duration kSteadyAfter = std::chrono::seconds(60);  // in step: pauses begin anew

  LogTable(Feed feed, Clock clock) : feed_(std::move(feed)), clock_(std::move(clock)) {}

  const Target& target() const { return feed_.target(); }
  bool is_planned() const { return table_.has_value(); }
  bool is_in_step() const { return is_in_step_; }

  // Nothing of what was known counts any more.
  void begin_anew(filter::State state, std::string_view why);
  // Whether the log's objects for this table are all there; if not, the namespace is refused with
  // `missing`'s words.
  using MissingWords = std::function<std::string(const LogObject&)>;
  Expected<bool> plan(const Database& database, const MissingWords& words);
  void refuse(std::string_view why);

  // What is behind `from`, if in step; nothing is changed before all tables have gathered theirs.
  Done gather(LogReader& log, const Database& database, const LogMark& from);
  // The inserts of all tables come before the erases of any.
  void insert();
  void erase(TimePoint at);
  void put_out_of_step(std::string_view why);

  bool is_due(TimePoint now) const;
  Done load(const Database& database,
            const std::stop_token& stop,
            const std::function<void()>& at_check);
  // A version has been read of. What was refused in it would be refused again.
  void has_read(Version version);
  void sees(Version version);

  void prove(TimePoint at);
  void report_delay(TimePoint now, std::string_view why);
  void report_refused(std::string_view why);
  void expire() { feed_.expire(); }

 private:
  void pause();

  Feed feed_;
  Clock clock_;
  std::optional<LoggedTable> table_;  // nothing: it cannot be followed, and the feed says why
  bool is_in_step_ = false;
  bool is_worn_ = false;  // in step, but the filter is to be built anew
  bool is_refused_ = false;
  std::optional<Version> refused_version_;
  TimePoint read_at_{};  // not before, if out of step
  TimePoint in_step_since_{};
  TimePoint proven_at_ = TimePoint::min();
  Duration load_time_{0};
  int failures_ = 0;
  std::expected<TouchedRows, std::string> touched_;  // in one read transaction
};

struct LogFollowerSettings {
  std::string path;
  bool install_triggers = false;
  std::chrono::nanoseconds poll_every;
  Asking asking{};  // a look answers readers' questions
};

class LogFollower final : public Follower {
 public:
  using Duration = std::chrono::nanoseconds;

  static constexpr Duration kBackoffMin = std::chrono::milliseconds(50);
  static constexpr Duration kBackoffMax = std::chrono::seconds(5);
  static constexpr Duration kInstallEvery = std::chrono::seconds(5);
  static constexpr std::chrono::milliseconds kInstallPatience{1000};

  // What the operator can mend before the start. Installs the log, if it is to.
  static std::vector<Refusal> check(const LogFollowerSettings& settings,
                                    std::span<const Target> targets);

  LogFollower(LogFollowerSettings settings, Feeds feeds, Clock clock, DatabaseOrigin::At at = {});

  std::chrono::nanoseconds step(const std::stop_token& stop) override;
  std::optional<std::chrono::nanoseconds> question_pace() const override {
    return is_there_ ? std::optional(settings_.asking.pace()) : std::nullopt;
  }
  void finish() override;

 private:
  Duration next(const std::stop_token& stop);
  Duration look(TimePoint before, const std::stop_token& stop);
  Duration catch_up(TimePoint at, const std::stop_token& stop);
  void prove(TimePoint at);
  Done read(const Database& database, TimePoint at, const std::stop_token& stop);
  Done plan(const Database& database);
  Done check_position(const Database& database);
  Done follow_log(const Database& database, TimePoint at);
  void install_if_due(TimePoint now);
  void begin_anew(filter::State state, std::string_view why);
  Duration lose(std::string_view why);

  LogFollowerSettings settings_;
  DatabaseOrigin origin_;
  std::vector<LogTable> tables_;
  Clock clock_;
  DatabaseOrigin::At at_;
  LogReader log_;

  std::optional<Version> version_;  // what has been read of
  std::uint32_t connection_ = 0;
  std::optional<std::int64_t> schema_;
  LogMark position_;        // of the tables in step
  bool is_there_ = false;   // it is not lost
  bool is_proven_ = false;  // by the last step
  bool log_is_missing_ = false;
  TimePoint install_at_{};
  Backoff backoff_{kBackoffMin, kBackoffMax};
};

}  // namespace cuckooguard::source::sqlite
