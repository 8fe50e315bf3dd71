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
//   (touched_rows.h). Filters
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
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "source/asking.h"
#include "source/backoff.h"
#include "source/feeds.h"
#include "source/follower.h"
#include "source/source.h"
#include "sqlite/log_reader.h"
#include "sqlite/log_table.h"
#include "sqlite/origin.h"

namespace cuckooguard::source {

struct SqliteLogSettings {
  std::string path;
  bool install_triggers = false;
  std::chrono::nanoseconds poll_every;
  Asking asking{};  // a look answers readers' questions
};

class SqliteLogFollower final : public Follower {
 public:
  using Duration = std::chrono::nanoseconds;

  static constexpr Duration kBackoffMin = std::chrono::milliseconds(50);
  static constexpr Duration kBackoffMax = std::chrono::seconds(5);
  static constexpr Duration kInstallEvery = std::chrono::seconds(5);
  static constexpr std::chrono::milliseconds kInstallPatience{1000};

  // What the operator can mend before the start. Installs the log, if it is to.
  static std::vector<Refusal> check(const SqliteLogSettings& settings,
                                    std::span<const Target> targets);

  SqliteLogFollower(SqliteLogSettings settings, Feeds feeds, Clock clock, SqliteOrigin::At at = {});

  std::chrono::nanoseconds step(const std::stop_token& stop) override;
  std::optional<std::chrono::nanoseconds> question_pace() const override {
    return is_there_ ? std::optional(settings_.asking.pace()) : std::nullopt;
  }
  void finish() override;

 private:
  using Done = std::expected<void, SqliteError>;

  Duration next(const std::stop_token& stop);
  Duration look(TimePoint before, const std::stop_token& stop);
  Duration catch_up(TimePoint at, const std::stop_token& stop);
  void prove(TimePoint at);
  Done read(const SqliteDatabase& database, TimePoint at, const std::stop_token& stop);
  Done plan(const SqliteDatabase& database);
  Done check_position(const SqliteDatabase& database);
  Done follow_log(const SqliteDatabase& database, TimePoint at);
  void install_if_due(TimePoint now);
  void begin_anew(filter::State state, std::string_view why);
  Duration lose(std::string_view why);

  SqliteLogSettings settings_;
  SqliteOrigin origin_;
  std::vector<SqliteLogTable> tables_;
  Clock clock_;
  SqliteOrigin::At at_;
  SqliteLogReader log_;

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

}  // namespace cuckooguard::source
