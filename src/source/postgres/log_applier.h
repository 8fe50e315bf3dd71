// Applies pgoutput's messages to the tables that are followed, one transaction at a time.
//
//   Begin ─▶ Relation, Insert, Update, Delete … ─▶ Commit ─▶ tables commit, then the position moves
//
// Must: after apply() the filters of all tables that are in step are those of the database at
// position(): each transaction that position() covers is in them exactly once, and no other is.
// What is not understood puts tables out of step: a TRUNCATE, a relation that is not as it was
// planned, a row without what is needed; they are told to on_out_of_step once, skipped from then
// on, and must be read again from a snapshot (join()). Of two-phase commits nobody has asked to
// hear: if they come all tables are out of step.
//
// A Relation comes once in a stream, before the first row of its table, be that in a transaction
// that was applied before: it is kept for tables that join later. It comes again before the next
// row when the table has changed. Before rows of a partition its own Relation comes behind that of
// the whole, and the rows are the whole's: so the last Relation before a row is that of the table
// that has the row. It is judged by tables that have not had its transaction, and by no other: the
// catalog that these were planned by is later, so that rows which it would be wrong of have another
// one before them.
//
// A table may be there more than once: for several namespaces, and while it is read again.
//
// Threads: the source's. Lifetimes: tables outlive it, or leave(). Errors: apply() fails if the
// stream cannot be decoded: reconnect from resume_position(). After an exception (no memory) tables
// may have a transaction of which position() does not know: begin anew with another applier.
// Limits: kUnseenMax transactions that nobody has seen to be visible: beyond, apply() fails.
// Relations are kept for each table of the publication that had rows since the stream began.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <boost/core/noncopyable.hpp>

#include "follow/joined_tables.h"
#include "follow/table_changes.h"
#include "pgoutput/message.h"
#include "pgoutput/message_decoder.h"
#include "postgres/log.h"

namespace cuckooguard::source::postgres {

// One table of PostgreSQL's log: tuples become changes (follow/table_changes.h).
//
//   relation(Relation) ─▶ insert | update | erase … ─▶ what a TableChanges does with them
//
// A tuple has the columns that the publication lists, in the table's order, and so has the plan.
// Of a row before its change the log has what the replica identity says: the key, where that has
// changed, or the whole row. So either all that is needed lies in the key, and an update without an
// old row changes nothing of it; or every update has its old row. Rows of a partition come under
// the name of the whole, with the whole's columns, but with what the partition's own replica
// identity leaves of them: so each partition's Relation, which comes before its rows, is looked at.
//
// Threads: the source's. Errors: a sentence, after which the table is not to be trusted: the log
// was not understood, and the table must be read again.
class FollowedTable final : public TableChanges<Log> {
 public:
  using TableChanges::TableChanges;

  bool is(std::string_view schema, std::string_view table) const {
    return plan().schema == schema && plan().name == table;
  }
  // It is the table itself, or a partition that it was planned with.
  bool has(pgoutput::Oid oid) const;

  // Its tuples are these from now on. `is_news`: the table's snapshot does not show the transaction
  // that has brought it. Of an older one the names may be outdated, and a partitioned table's
  // replica identity: it comes again only before rows that it would be wrong of.
  Done relation(const pgoutput::Relation& relation, bool is_news = true);
  // One that comes before rows of this table, and is another one's: a partition's.
  Done part(const pgoutput::Relation& relation) const;
  Done insert(const pgoutput::Insert& insert);
  Done update(const pgoutput::Update& update);
  Done erase(const pgoutput::Delete& erase);

 private:
  using Values = std::vector<std::optional<std::string_view>>;

  std::unexpected<std::string> changed(const std::string& how) const;
  std::unexpected<std::string> not_understood(const std::string& what) const;
  Done compare_identity(const pgoutput::Relation& relation) const;
  std::optional<std::string> difference(const Column& planned,
                                        const pgoutput::RelationColumn& logged,
                                        bool is_news) const;
  bool is_as_planned(pgoutput::OldRow old_row_is) const {
    return old_row_is == (plan().has_full_rows ? pgoutput::OldRow::whole : pgoutput::OldRow::key);
  }
  // `before`: has what the row leaves out since it has not changed; may be empty.
  std::expected<RowValues, std::string> read(pgoutput::Row row,
                                             pgoutput::Row before,
                                             Values& values) const;

  bool is_described_ = false;  // a Relation has come
  Values before_;
  Values after_;
};

class LogApplier final : public TransactionApplier<Log> {
 public:
  static constexpr std::size_t kUnseenMax = 4'000'000;

  LogApplier(LogPosition position, Calls calls)
      : TransactionApplier(std::move(calls)), position_(position) {}

  void leave(FollowedTable& table) override;

  // True: position() has moved.
  std::expected<bool, std::string> apply(const LogEvent& event);
  // The stream begins anew, behind position().
  void reconnected(const LogBegin& format, std::uint64_t log_of);

  // --- whether it is the same log ---
  // What position() or a table's checkpoint rests on: the stream must come by each transaction, as
  // it is remembered, or apply() fails. The first is the last that position() covers.
  void rest_on(std::vector<LogGroup> groups);
  // It has not come by all of them yet: nothing is proven so far.
  bool is_expecting() const { return !expected_.empty(); }
  // A log that is no longer than this does not have them all.
  bool expects_more_than(const LogPosition& logged) const;
  // Nothing before the first transaction.
  std::optional<LogGroup> last_group() const;
  // What is behind the last transaction, or that itself, is more than `most` bytes of log, which
  // would be kept for it and sent again; or there is none.
  bool needs_transaction(std::uint64_t most) const {
    return !has_last() || last_bytes_ > most ||
           position_.lsn().value > last_.commit.lsn.value + most;
  }
  // A table that was read no later than there has nothing that another history has otherwise.
  LogPosition last_end() const { return LogPosition(last_.last.end); }
  // From there on the server sends the last transaction once more.
  LogPosition resume_position() const {
    return has_last() ? LogPosition(last_.commit.lsn) : position_;
  }

  // No transaction is open.
  bool is_idle() const { return !open_; }

  const LogPosition& position() const { return position_; }
  static std::monostate place() { return {}; }
  LogReach reach() const { return {.position = position_, .unseen = unseen_}; }
  // Those that were applied, or that a slot began behind, and that nobody has seen yet. Who opens a
  // view asks before: one that is seen behind the view's opening is none of these any more.
  const std::vector<Xid>& unseen() const { return unseen_; }
  // What is seen by now is forgotten; tables of other fingerprints than planned are out of step.
  void judge(const Committed& committed);

 private:
  using Applied = std::expected<bool, std::string>;

  bool is_in_transaction() const override { return open_.has_value(); }

  bool has_last() const { return last_.commit.lsn.value != 0; }

  // A Relation, with texts of its own, and who follows it.
  struct Known : boost::noncopyable {
    explicit Known(const pgoutput::Relation& of);

    std::string schema;
    std::string name;
    std::vector<std::string> names;  // of columns
    std::vector<pgoutput::RelationColumn> columns;
    pgoutput::Relation relation;
    std::vector<FollowedTable*> tables{};
    std::optional<std::uint64_t> found_at{};  // JoinedTables::joins(), then; nothing: to be found
    std::uint64_t came_at = 0;                // the same, when it came
    pgoutput::Lsn told{};                     // the last transaction that nobody was told of
  };

  Applied on(const pgoutput::Begin& begun);
  Applied on(const pgoutput::Commit& commit);
  Applied on(const pgoutput::Relation& relation);
  Applied on(const pgoutput::Insert& insert);
  Applied on(const pgoutput::Update& update);
  Applied on(const pgoutput::Delete& erase);
  Applied on(const pgoutput::Truncate& truncate);
  Applied on(const pgoutput::CommitPrepared& commit);
  Applied on(const pgoutput::BeginPrepare& begun);
  template <class Other>
  Applied on(const Other&) {  // nothing to be done
    return false;
  }

  Applied on_keepalive(pgoutput::Lsn end);
  // To all that follow the table, and do not have the transaction.
  template <class Change>
  Applied on_row(pgoutput::Oid oid, const Change& change);
  void find_tables(Known& known);
  // Before a row of `whole`, whose table has just been described.
  void judge_part(const Known& part, const Known& whole);
  // Whether the transactions that are expected are those that come.
  std::expected<void, std::string> compare(const pgoutput::Begin& begun);
  std::expected<void, std::string> expect_none_before(pgoutput::Lsn end);
  bool is_news_to(const FollowedTable& table) const;
  void judge(const Committed& committed, const TableFingerprints& fingerprints);
  void put_all_out_of_step(std::string_view why);

  // The transaction at hand. Until its commit says where it ends it is known by the byte behind the
  // commit's first, which lies on the same side of every position.
  std::optional<CommitMark> open_;
  bool is_covered_ = false;  // it was applied before
  LogPosition position_;
  // Of a transaction, without what is unseen.
  LogGroup last_;
  std::uint64_t last_bytes_ = 0;  // of log, since it began
  CommitStamp begun_;             // the transaction at hand
  pgoutput::Lsn begun_at_{};      // its first change
  std::vector<LogGroup> expected_;
  std::vector<Xid> unseen_;
  Xid near_ = 0;
  pgoutput::MessageDecoder decoder_;
  std::unordered_map<pgoutput::Oid, Known> relations_;
  std::optional<pgoutput::Oid> described_;  // by the last message
};

}  // namespace cuckooguard::source::postgres
