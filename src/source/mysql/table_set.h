// The tables of one server, and the log that is applied to them.
//
//        due ─▶ collecting ─▶ in step ─▶ out of step ─▶ due
//                   └─▶ load failed ─▶ due
//
// A table is read by a TableLoader while the log goes on: what the log says of it meanwhile is kept
// (PendingChanges), and goes into the new filter before look-ups see it. A table that is read again
// for another reason than doubt stays in step with its old filter until then.
//
// Must: a table that is in step has exactly the rows that the database had at position(); prove()
// makes only such tables fresh, and only if position() covers what is proven.
// (tests/source/mysql/table_set_test.cpp, integration/exactness)
//
// Threads: a monitor; each call may come from any of these four. Waits end with their stop token or
// deadline. Errors: values. Limits: beyond PendingChanges::kChangesMax apply() waits for the load
// to end: all tables pass after max_lag.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <ranges>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "filter/filter_file.h"
#include "mysql/checkpoint.h"
#include "mysql/log_applier.h"
#include "mysql/patterned_tables.h"
#include "mysql/position_proofs.h"
#include "mysql/read_view.h"
#include "mysql/table_place.h"
#include "source/feeds.h"
#include "source/filter_load.h"
#include "source/follow_status.h"
#include "source/storage_directory.h"

namespace cuckooguard::source {

class TableSet {
 public:
  static constexpr std::chrono::milliseconds kRereadDelayMax{500};
  static constexpr std::chrono::seconds kRefusedPause{
      10};  // until what the operator must mend is looked at again
  static constexpr std::chrono::seconds kViewWaitMax{60};
  // For XA transactions that were prepared before a table is read: theirs would not be known.
  static constexpr std::chrono::seconds kPreparedWaitMax{1};
  static constexpr std::chrono::seconds kRebuildPause{10};  // behind a load

  using Index = std::size_t;

  // Which contents a table's filter has.
  struct Version {
    std::uint64_t load = 0;
    std::uint64_t changes = 0;

    bool operator==(const Version&) const = default;
  };

  // `schema`: of all tables.
  TableSet(Feeds feeds, Clock clock, std::string schema);

  // Places, also of tables that have gone: those are neither due nor in step.
  std::size_t size();
  // Of one that is being read, or before the first load.
  Target target(Index index);
  std::string table(Index index);

  // Any thread, without waiting for the set.
  const LogStatus<LogPosition>& status() const { return status_; }

  // --- the follower ---
  // Everything anew: all tables are due, from here on. `groups`: LogApplier::rest_on(), if there
  // are any.
  void begin_at(LogPosition position, std::vector<LogGroup> groups = {});
  bool has_begun();
  LogPosition position();
  // From where the stream is to begin: one group early, if there was one, which shows whether the
  // log is still the same.
  // Nothing: no group has been seen, and what was streamed before cannot be found again. begin_at()
  // is due.
  LogPosition resume_position();
  bool can_resume();
  void reconnected(binlog::ChecksumAlgorithm checksum, std::string_view server);
  // One event. An error: the stream is of no more use. An exception (no memory): nor are the
  // tables, which may have a transaction in part.
  std::expected<void, std::string> apply(std::string_view event, const std::stop_token& stop);
  // A table as it was at its checkpoint's position, which position() may be behind.
  void adopt(Index index, MysqlTable plan, Checkpoint checkpoint);
  // Those that are to be read now; they count as being read from then on.
  std::vector<Index> take_due();
  // The server has committed so much of its log, and lists these XA transactions as not done: rows
  // that were deleted by then are gone for all.
  void see_committed(const LogPosition& position,
                     const LogPlace& place,
                     const std::set<binlog::Xid>& listed);
  // All that was committed before `at` is in the log up to `position`: proven as soon as that is
  // applied.
  void prove(TimePoint at, const LogPosition& position);
  // Why position() means nothing any more, if so, and nothing is proven: begin_at() is due.
  std::string_view why_void();
  // Once in a while: says which tables have no recent proof, and lets filters be built again that
  // want it.
  void tend();
  void report_lost(std::string_view why);
  // It means nothing any more, and nothing is proven until begin_at().
  void forget_position();
  // The source as a whole; behind forget_position().
  void report_refused(std::string_view why);
  void expire_all();

  // --- the checkpoints ---
  // Until `every` has passed, or a load was published. False: stopped.
  bool wait_for_checkpoint(std::chrono::nanoseconds every, const std::stop_token& stop);
  // Nothing if it is not in step.
  std::optional<Version> version(Index index);
  // If it was refused alone, and not loaded since: where its file would be, which is of no use.
  std::optional<std::string> useless_file(Index index,
                                          const StorageDirectory& directory,
                                          std::string_view source);
  // Without putting it in its place. Nothing is applied meanwhile, so that nothing new is proven if
  // it takes long. An error also if it is not in step, or if the server has not committed by
  // `until` what its log has deleted.
  std::expected<filter::WrittenFilterFile, filter::FilterFileError> write_checkpoint(
      Index index,
      const StorageDirectory& directory,
      std::string_view source,
      std::string_view server,
      TimePoint until);

  // --- which tables there are: while no loader reads ---
  // The namespaces whose tables are given by patterns.
  std::vector<Target> patterned() const { return patterned_.targets(); }
  // There is doubt, and it is time to ask (again).
  bool is_listing_due();
  // `is_refused`: somebody must mend something.
  void listing_failed(std::string_view why, bool is_refused);
  // Their tables are not known, or may not be those any more; all of their keys pass. What it gives
  // goes back with the answer to a question asked later.
  std::optional<std::uint64_t> doubt();
  // Those that are followed, and that this list lacks: while a definition is being carried out a
  // server may not list its table.
  std::vector<std::string> missing_from(const std::vector<std::vector<std::string>>& tables);
  // Of each of them. False: there is new doubt, ask again. New tables are due.
  bool set_tables(std::uint64_t doubt, const std::vector<std::vector<std::string>>& tables);
  bool is_gone(Index index);

  // --- the loader ---
  FilterLoad load(Index index);
  // `unsynced`: for a row; `refused`: its rows cannot be read. The table is followed no more, and
  // is due after a pause.
  void refuse(Index index, filter::State state, std::string_view why);
  // It is due again, after a pause that grows if that comes too often (reread_pace.h). Unless it is
  // in step it shows `state`: `refused` if somebody must mend something, or `loading`.
  void fail(Index index, std::string_view why, filter::State state = filter::State::loading);
  // Nobody has begun to read it, or whoever did was stopped: it is due as it was.
  void give_back(Index index);
  // The log's word on this table is kept from now on.
  const TableRows& collect(Index index, MysqlTable plan);
  // Up to here the log's word was not kept. Nothing: stopped, or too late.
  std::optional<LogPosition> wait_until_collecting(
      std::span<const Index> indexes,
      const std::stop_token& stop,
      std::chrono::nanoseconds prepared_wait = kPreparedWaitMax);
  XaState xa_state(const binlog::Xid& xid);
  bool view_is(Index index, const ReadView& view, TimePoint at);
  // The log has been read as far as the view may reach: false if stopped, or too late.
  bool wait_until_past(const ReadView& view, const std::stop_token& stop);
  void settle(Index index);
  bool is_outdated(Index index);
  // In step from now on. A sentence if the log and the snapshot do not go together.
  std::expected<void, std::string> publish(Index index, FilterLoad load);

 private:
  using Lock = std::unique_lock<std::mutex>;
  class Pause;

  // Not the places of tables that have gone.
  auto there() { return tables_ | std::views::filter(&TablePlace::is_there); }
  void erase_what_is(const Committed& committed, TablePlace& followed);
  void prove_what_is_covered();
  // Before the log goes on.
  bool must_wait() const;
  bool is_any_load_full() const;
  void wait_for_pauses(Lock& lock);
  void put_out_of_step(FollowedTable& table, std::string_view why);
  // For a reason that is not in the log.
  void take_out_of_step(TableRows& rows, std::string_view why);
  // When a table is read again that was in step for so long, and what is to be said of it.
  struct Reread {
    std::chrono::nanoseconds pause;
    std::string why;
  };
  Reread reread(TablePlace& followed, std::chrono::nanoseconds in_step, std::string_view why);
  void make_void(std::string_view why);
  void report_patterned(filter::State state, std::string_view why);
  void see_table(std::string_view schema, std::string_view table);
  void drop(std::unique_ptr<TableRows>& rows);
  void end_reading(TablePlace& followed, std::chrono::nanoseconds pause);
  std::chrono::nanoseconds some_of(std::chrono::nanoseconds most);
  bool can_be_kept(Index index);
  bool has_erasures(Index index) const;
  std::expected<filter::WrittenFilterFile, filter::FilterFileError> write_paused(
      Lock& lock,
      Index index,
      const StorageDirectory& directory,
      std::string_view source,
      std::string_view server);
  bool wait(Lock& lock, const std::stop_token& stop, const std::function<bool()>& until);

  std::mutex mutex_;
  std::condition_variable_any moved_;
  int waiting_ = 0;
  int pauses_ = 0;  // files are being written: no filter changes, and none is replaced
  Clock clock_;
  std::minstd_rand random_;
  std::string schema_;
  Feeds feeds_;
  PatternedTables patterned_;
  std::deque<TablePlace> tables_;
  LogStatus<LogPosition> status_;
  std::unique_ptr<LogApplier> applier_;
  bool has_published_ = false;  // since the last checkpoint
  PositionProofs proofs_;
  std::string_view why_void_;  // of a literal
  bool is_refused_ = false;    // as a whole, and not begun since
};

}  // namespace cuckooguard::source
