// One namespace that follows a trigger log: in step with it, or out of step and to be read again.
//
//   plan ─▶ load ─▶ in step: gather, apply, prove … ─▶ out of step ─▶ pause ─▶ load
//     └─▶ refused, until the schema is another          └── a row that cannot be guarded: until
//                                                           there is a change
//
// Deletes: `auto` is trusted if a unique key lies within the identity (rows with a NULL in it have
// no key, so it need not be NOT NULL), else deferred.
//
// Threads: the source's. Errors: SqliteError if the database itself failed; what is wrong with the
// table is reported by the feed, and passes.
#pragma once

#include <chrono>
#include <expected>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "source/feed.h"
#include "source/origin.h"
#include "sqlite/log_reader.h"
#include "sqlite/touched_rows.h"
#include "sqlite/trigger_log.h"

namespace cuckooguard::source {

class SqliteLogTable {
 public:
  using Duration = std::chrono::nanoseconds;
  using Done = std::expected<void, SqliteError>;

  static constexpr Duration kReadAgainMin = std::chrono::milliseconds(100);
  static constexpr Duration kReadAgainMax = std::chrono::seconds(30);
  static constexpr int kLoadsPerPause = 3;
  static constexpr Duration kSteadyAfter = std::chrono::seconds(60);  // in step: pauses begin anew

  SqliteLogTable(Feed feed, Clock clock) : feed_(std::move(feed)), clock_(std::move(clock)) {}

  const Target& target() const { return feed_.target(); }
  bool is_planned() const { return table_.has_value(); }
  bool is_in_step() const { return is_in_step_; }

  // Nothing of what was known counts any more.
  void begin_anew(filter::State state, std::string_view why);
  // Whether the log's objects for this table are all there; if not, the namespace is refused with
  // `missing`'s words.
  using MissingWords = std::function<std::string(const LogObject&)>;
  std::expected<bool, SqliteError> plan(const SqliteDatabase& database, const MissingWords& words);
  void refuse(std::string_view why);

  // What is behind `from`, if in step; nothing is changed before all tables have gathered theirs.
  Done gather(SqliteLogReader& log, const SqliteDatabase& database, const LogMark& from);
  // The inserts of all tables come before the erases of any.
  void insert();
  void erase(TimePoint at);
  void put_out_of_step(std::string_view why);

  bool is_due(TimePoint now) const;
  Done load(const SqliteDatabase& database,
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

}  // namespace cuckooguard::source
