// Applies a binary log to the tables that are followed, one transaction at a time.
//
//   GTID ─▶ BEGIN ─▶ TABLE_MAP, rows … ─▶ COMMIT ─▶ tables commit, then the position moves
//                                     └─▶ XA PREPARE ─▶ parked ─▶ XA COMMIT of the same name
//
// Must: after apply() the filters of all tables that are in step are those of the database at
// position(): each transaction that position() covers is in them exactly once, and no other is. A
// transaction that was applied already (after a reconnect) is skipped.
// A log that is resumed must not show that its server has crashed since (on(FormatDescription)).
// Whatever is not understood puts tables out of step: a definition that may name them, changes
// logged as statements, an incident, an event of a kind unknown, MariaDB's GTIDs out of their
// order. They are told to on_out_of_step once, skipped from then on, and must be read again from a
// snapshot (join()).
//
// A table may be there more than once: for several namespaces, and while it is read again.
//
// Threads: the source's. Lifetimes: tables outlive it, or leave(). Errors: apply() fails if the
// stream cannot be decoded: reconnect from position(). After an exception (no memory) tables may
// have a transaction of which position() does not know: begin anew with another applier.
// Limits: PreparedTransactions'; beyond them all tables are out of step.
// Source: notes on change following, 2 and 4.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "binlog/event_decoder.h"
#include "binlog/payload_reader.h"
#include "binlog/query_words.h"
#include "binlog/rows.h"
#include "binlog/table_layout.h"
#include "binlog/xid.h"
#include "follow/joined_tables.h"
#include "follow/table_changes.h"
#include "mysql/column.h"
#include "mysql/log.h"
#include "mysql/log_group.h"
#include "mysql/log_place.h"
#include "mysql/log_position.h"
#include "source/transaction.h"
#include "source/uuid_bytes.h"

namespace cuckooguard::source::mysql {

// Whether a column as the log describes it can be the one that information_schema had when the
// table was planned.
//
// A definition can change without a word in the log (SET sql_log_bin = 0, a table file that was
// swapped): rows that were read by the old plan would give the values of other columns. What the
// log always says is a type with its metadata, and whether a column can be NULL; by its settings
// also signedness, collation and name.
//
// Of a column that is read every difference counts. Of others, which only say that columns have
// moved, types of another kind do: a table must not be read again for ever because of a difference
// that makes none.
//
// Limit: columns that the log describes alike are not told apart, unless by name
// (binlog_row_metadata = FULL).
//
// Threads: pure functions. Errors: a data type that is not known here is taken as it comes.
// Source: table maps as recorded from MariaDB 10.11 and 11.8 and MySQL 9.7 (tests/binlog/recorded).

// Why not: "column `id` is int(11) in the schema and VARCHAR in the log".
std::optional<std::string> why_not_the_same(const Column& planned,
                                            const binlog::Column& logged,
                                            bool is_read);

// One table of a binary log: rows of events become changes (follow/table_changes.h).
//
//   map(TABLE_MAP) ─▶ rows(WRITE|UPDATE|DELETE) … ─▶ what a TableChanges does with them
//
// Threads: the source's. Errors: a sentence, after which the table is not to be trusted: the log
// was not understood, and the table must be read again.
class FollowedTable final : public TableChanges<Log> {
 public:
  using TableChanges::TableChanges;

  bool is(std::string_view schema, std::string_view table) const {
    return plan().schema == schema && plan().name == table;
  }

  Done map(const binlog::TableMap& map, bool is_mariadb);
  Done rows(const binlog::Rows& rows);

 private:
  using Values = std::vector<std::optional<std::string_view>>;
  using UuidTexts = std::vector<std::array<char, kUuidTextBytes>>;  // as needed()

  Done check(const binlog::TableLayout& layout) const;
  // The row at hand, before or after its change.
  std::expected<RowValues, std::string> read(bool is_after, Values& values);
  Done add_row(binlog::RowsKind kind);

  std::optional<binlog::TableLayout> layout_;
  std::unique_ptr<binlog::RowReader> reader_;
  Values before_;
  Values after_;
  std::array<UuidTexts, 2> uuid_texts_;  // of the two
};

// XA transactions of a log, between their XA PREPARE and their verdict, by name; and the names of
// those whose verdict was read a short while ago.
//
//   add(xid, rows) ─▶ end(xid): rows, to be applied or dropped ─▶ state(xid) is `ended`, until it
//                     is prepared again
//
// Why the ended ones matter: MariaDB logs XA COMMIT before its engine has done it (read_view.h).
//
// Threads: the source's, under the follower's lock. Lifetimes: a table is forgotten (forget())
// before it ends. Errors: add() is false beyond a limit, and then none is kept any more: all tables
// must be read again, and once more at the verdict of each. Limits: kCountMax transactions and
// kRowsMax rows in all, some 42 bytes each; kEndedMax names of ended ones, the oldest of which is
// forgotten.

// As far as a log has been read.
enum class XaState : std::uint8_t {
  unknown,   // its PREPARE was not read
  prepared,  // and has no verdict yet
  ended,     // its verdict was read
};

class PreparedTransactions {
 public:
  static constexpr std::size_t kCountMax = 1000;
  static constexpr std::size_t kRowsMax = 8'000'000;
  static constexpr std::size_t kEndedMax = 10'000;

  struct Rows {
    std::vector<std::pair<FollowedTable*, Transaction>> tables;
    std::uint64_t joins = 0;  // of tables, before it: those later do not know its rows

    std::size_t count() const;
  };

  explicit PreparedTransactions(std::size_t rows_max = kRowsMax) : rows_max_(rows_max) {}

  [[nodiscard]] bool add(const binlog::Xid& xid, Rows rows);
  // Its verdict has come. Nothing: its rows are not known.
  std::optional<Rows> end(const binlog::Xid& xid);
  void forget(const FollowedTable& table);

  bool is_empty() const { return prepared_.empty(); }
  XaState state(const binlog::Xid& xid) const;
  // One whose rows a table does not know that joined as this one.
  bool is_any_before(std::uint64_t join) const;

 private:
  void drop(const binlog::Xid& xid);
  void note_end(const binlog::Xid& xid);

  std::size_t rows_max_;
  std::size_t rows_ = 0;
  std::map<binlog::Xid, Rows> prepared_;
  std::uint64_t ends_ = 0;
  std::map<binlog::Xid, std::uint64_t> ended_;  // which end it was
  std::deque<binlog::Xid> ended_in_order_;      // up to the last one
};

class LogApplier final : public TransactionApplier<Log> {
 public:
  LogApplier(LogPosition position, Calls calls);

  bool is_prepared_before(const FollowedTable& table) const;
  void leave(FollowedTable& table) override;

  // One event as the server sends it. True: position() has moved, or place() outside a group, or
  // is_expecting() has ended.
  std::expected<bool, std::string> apply(std::string_view event);
  // The stream begins anew, at resume_position(), in the log of this server (LogGroup::log_of).
  void reconnected(const LogBegin& begin, std::uint64_t log_of);

  // --- whether it is the same log ---
  // Groups that position() or a table's checkpoint rests on: the stream must come by each, as it is
  // remembered, or apply() fails. The first is the last that position() covers.
  void rest_on(std::vector<LogGroup> groups);
  // It has not come by all of them yet, or, resumed, not by where the log ended then: nothing is
  // proven so far.
  bool is_expecting() const { return !expected_.empty() || place() < resumed_until_; }
  // A log that is no longer than this does not have them all.
  bool expects_more_than(const LogPosition& logged) const;
  // What position() rests on; nothing before the first group.
  const std::optional<LogGroup>& last_group() const { return last_; }
  // One group before position(), if there is a last one: from there on the log shows whether it is
  // still the same.
  LogPosition resume_position() const {
    return last_ ? position_.before(last_->gtid, last_->previous) : position_;
  }

  // No transaction is open, or prepared: the tables have heard of all rows that were decoded.
  bool is_idle() const;

  const LogPosition& position() const { return position_; }
  const LogPosition& last_end() const { return position_; }
  const LogPlace& place() const { return place_.place(); }  // how far the stream has been read
  XaState xa_state(const binlog::Xid& xid) const { return prepared_.state(xid); }
  LogReach reach() const { return {.position = position_, .place = place()}; }
  // Whether XA transactions that were listed as not done are among those whose verdict was read.
  // Also how far its place is to be believed.
  void judge(Committed& committed);
  bool believes(const LogPlace& committed) const { return witness_.believes(committed); }

 private:
  using Applied = std::expected<bool, std::string>;

  bool is_in_transaction() const override { return gtid_.has_value(); }

  Applied apply_body(const binlog::EventBody& body);
  Applied on(const binlog::FormatDescription& format);
  Applied on(const binlog::MariaDbTransaction& begun);
  Applied on(const binlog::MySqlTransaction& begun);
  Applied on(const binlog::TableMap& map);
  Applied on(const binlog::Rows& rows);
  Applied on(const binlog::Query& query);
  Applied on(const binlog::Commit&) { return commit(); }
  Applied on(const binlog::XaPrepare& prepare);
  Applied on(const binlog::TransactionPayload& payload);
  Applied on(const binlog::Incident&);
  Applied on(const binlog::Unknown&);
  template <class Other>
  Applied on(const Other&) {  // nothing to be done
    return !gtid_.has_value();
  }

  bool is_expected(const LogGtid& gtid) const;
  Applied begin(const LogGtid& gtid);
  Applied advance(const LogGtid& gtid);
  bool is_out_of_order(const LogGtid& gtid) const;
  Applied commit();
  Applied roll_back();
  Applied finish();
  void on_definition(const binlog::Query& query);
  Applied end_xa(const std::optional<binlog::Xid>& xid, bool commits);
  void commit_prepared(const PreparedTransactions::Rows& rows);
  CommitMark mark(bool is_xa_commit = false) const {
    return {.gtid = gtid_.value_or(LogGtid()), .end = place_.place(), .is_xa_commit = is_xa_commit};
  }
  // Not if it has the transaction at hand from before.
  bool is_news_to(const FollowedTable& table) const;
  void put_late_out_of_step(const PreparedTransactions::Rows& rows);
  void put_all_out_of_step(std::string_view why);
  void put_touched_out_of_step();

  LogPosition position_;
  std::optional<LogGroup> last_;
  std::vector<LogGroup> expected_;
  LogPlace resumed_until_;     // empty: it was not resumed
  bool has_begun_ = false;     // the stream: a file of it
  bool was_closed_ = false;    // the last file, by its server
  binlog::EventHeader begun_;  // the event that has begun the group at hand
  GroupDigest digest_;
  LogPlaceCounter place_;
  binlog::EventDecoder decoder_;
  binlog::PayloadReader payload_;
  std::vector<std::pair<std::uint64_t, FollowedTable*>> maps_;  // of the transaction
  std::vector<FollowedTable*> unread_;  // of the transaction: older definitions than theirs
  std::optional<LogGtid> gtid_;         // of the transaction
  bool is_covered_ = false;             // it was applied before
  bool has_moved_ = false;              // position_, in this stream
  bool is_in_group_ = false;            // more than one QUERY: it ends with a commit of some kind
  PreparedTransactions prepared_;
  CommitWitness witness_;
};

}  // namespace cuckooguard::source::mysql
