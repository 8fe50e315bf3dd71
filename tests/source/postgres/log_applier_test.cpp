#include "postgres/log_applier.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "source/postgres/made_log.h"

namespace cuckooguard::source::postgres {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Xid kEpoch = Xid{3} << 32U;

// All before it are shown.
XidSnapshot seen_before(Xid xid) {
  return {.xmin = xid, .xmax = xid, .running = {}};
}

class PostgresApplierTest : public testing::Test {
 protected:
  PostgresApplierTest() { reconnect(); }

  void reconnect() { applier_.reconnected({.near = kEpoch + 100}, 1); }
  void apply(const std::vector<std::string>& messages) {
    for (const std::string& message : messages) {
      const auto applied = applier_.apply({.message = message, .end = {}});
      ASSERT_TRUE(applied) << applied.error();
    }
  }
  std::string refusal(const std::string& message) {
    const auto applied = applier_.apply({.message = message, .end = {}});
    return applied ? "it was taken" : applied.error();
  }
  void keepalive(std::uint64_t end, bool moves) {
    const auto applied = applier_.apply({.message = {}, .end = {end}});
    ASSERT_TRUE(applied);
    EXPECT_EQ(*applied, moves);
  }
  LogApplier::Calls calls() {
    return {.on_out_of_step =
                [this](FollowedTable& table, std::string_view why) {
                  out_of_step_.push_back(&table);
                  why_ = why;
                },
            .on_definition = [this] { ++definitions_; },
            .on_other_table =
                [this](std::string_view schema, std::string_view table) {
                  others_.push_back(std::string(schema) + "." + std::string(table));
                }};
  }
  void judge(const TableFingerprints& fingerprints) {
    applier_.judge({.snapshot = {},
                    .fingerprints = std::make_shared<const TableFingerprints>(fingerprints),
                    .schema = "public"});
  }
  std::uint64_t position() const { return applier_.position().lsn().value; }

  MadeLog log_;
  MadeTable user_;
  MadeTable item_{planned("item", 17)};
  std::vector<const FollowedTable*> out_of_step_;
  std::string why_;  // of the last one
  int definitions_ = 0;
  std::vector<std::string> others_;
  LogApplier applier_{LogPosition({1000}), calls()};
};

const MadeRelation kItem{.oid = 17, .name = "item"};

TEST_F(PostgresApplierTest, tells_all_that_follow_a_table_of_its_rows_when_they_commit) {
  MadeTable again;
  for (MadeTable* const table : {&user_, &again, &item_}) {
    applier_.join(table->table);
  }
  apply({log_.begin(7),
         MadeLog::relation(),
         MadeLog::insert(row_of("1")),
         MadeLog::relation(kItem),
         MadeLog::insert(row_of("8"), 17),
         MadeLog::update('K', key_of("1"), row_of("2"))});
  EXPECT_THAT(user_.target.rows(), IsEmpty());
  EXPECT_FALSE(applier_.is_idle());
  apply({log_.commit()});
  EXPECT_TRUE(applier_.is_idle());
  EXPECT_THAT(user_.target.rows(), ElementsAre("2"));
  EXPECT_THAT(again.target.rows(), ElementsAre("2"));
  EXPECT_THAT(item_.target.rows(), ElementsAre("8"));
  EXPECT_EQ(position(), log_.end());
  EXPECT_EQ(user_.target.last().xid, kEpoch + 7) << "with its epoch";
  EXPECT_EQ(user_.target.last().end.end.value, log_.end());
  EXPECT_THAT(applier_.unseen(), ElementsAre(kEpoch + 7));
}

TEST_F(PostgresApplierTest, a_table_that_joins_within_a_transaction_is_told_from_the_next_one_on) {
  apply({log_.begin(7), MadeLog::relation(), MadeLog::insert(row_of("1"))});
  applier_.join(user_.table);
  EXPECT_FALSE(applier_.has_joined(user_.table));
  apply({MadeLog::insert(row_of("2")), log_.commit()});
  EXPECT_TRUE(applier_.has_joined(user_.table));
  apply(log_.transaction(8, {MadeLog::insert(row_of("3"))}));
  EXPECT_THAT(user_.target.rows(), ElementsAre("3")) << "although its Relation came before";
}

TEST_F(PostgresApplierTest, a_table_that_has_left_is_told_no_more) {
  applier_.join(user_.table);
  apply({log_.begin(7), MadeLog::relation(), MadeLog::insert(row_of("1"))});
  applier_.leave(user_.table);
  apply({MadeLog::insert(row_of("2")), log_.commit()});
  apply(log_.transaction(8, {MadeLog::insert(row_of("3"))}));
  EXPECT_THAT(user_.target.rows(), IsEmpty());
  EXPECT_FALSE(user_.table.is_touched());
}

TEST_F(PostgresApplierTest, a_transaction_that_was_cut_off_is_applied_once_when_it_comes_again) {
  applier_.join(user_.table);
  apply({log_.begin(7), MadeLog::relation(), MadeLog::insert(row_of("1"))});
  reconnect();
  EXPECT_TRUE(applier_.is_idle());
  EXPECT_EQ(position(), 1000U);
  log_.move_to(1000);
  apply(log_.transaction(7, {MadeLog::relation(), MadeLog::insert(row_of("1"))}));
  EXPECT_THAT(user_.target.rows(), ElementsAre("1"));
}

TEST_F(PostgresApplierTest, what_was_applied_is_skipped_but_for_its_relations) {
  applier_.join(user_.table);
  const auto first = log_.transaction(7, {MadeLog::relation(), MadeLog::insert(row_of("1"))});
  apply(first);
  const std::uint64_t applied = log_.end();
  reconnect();
  apply(first);
  EXPECT_EQ(position(), applied);
  EXPECT_THAT(applier_.unseen(), ElementsAre(kEpoch + 7)) << "once";
  apply(log_.transaction(8, {MadeLog::insert(row_of("2"))}));
  EXPECT_THAT(user_.target.rows(), ElementsAre("1", "2"));
}

TEST_F(PostgresApplierTest, rows_without_a_relation_in_this_stream_are_not_understood) {
  apply(log_.transaction(7, {MadeLog::relation(), MadeLog::insert(row_of("1"))}));
  reconnect();
  log_.move_to(log_.end() - 10);
  apply({log_.begin(7), log_.commit()});
  apply({log_.begin(8)});
  EXPECT_THAT(refusal(MadeLog::insert(row_of("2"))), HasSubstr("has not described"));
}

TEST_F(PostgresApplierTest, transactions_that_do_not_fit_together_are_not_understood) {
  EXPECT_THAT(refusal(log_.commit()), HasSubstr("a different transaction"));
  apply({log_.begin(7)});
  EXPECT_THAT(refusal(log_.begin(8)), HasSubstr("inside another one"));
  EXPECT_THAT(refusal(log_.commit()), HasSubstr("a different transaction"));
  EXPECT_THAT(refusal("?"), HasSubstr("the server's log: "));
}

TEST_F(PostgresApplierTest, a_keepalive_moves_the_position_between_transactions) {
  keepalive(1000, false);
  keepalive(1005, true);
  EXPECT_EQ(position(), 1005U);
  keepalive(1001, false);
  apply({log_.begin(7)});
  keepalive(1008, false);
  EXPECT_EQ(position(), 1005U);
  apply({log_.commit()});
  EXPECT_EQ(position(), 1010U);
  EXPECT_THAT(applier_.unseen(), ElementsAre(kEpoch + 7));
}

TEST_F(PostgresApplierTest, a_table_that_was_truncated_is_out_of_step_and_others_are_not) {
  applier_.join(user_.table);
  applier_.join(item_.table);
  apply(log_.transaction(7,
                         {MadeLog::relation(),
                          MadeLog::insert(row_of("1")),
                          MadeLog::relation(kItem),
                          MadeLog::insert(row_of("2"), 17),
                          MadeLog::truncate({kUserOid})}));
  EXPECT_THAT(out_of_step_, ElementsAre(&user_.table));
  EXPECT_EQ(why_, "the table was truncated; reading it again");
  EXPECT_THAT(user_.target.rows(), IsEmpty());
  EXPECT_THAT(item_.target.rows(), ElementsAre("2"));
  EXPECT_THAT(applier_.unseen(), ElementsAre(kEpoch + 7)) << "who reads it must see that";
}

TEST_F(PostgresApplierTest, several_tables_may_be_truncated_at_once) {
  applier_.join(user_.table);
  applier_.join(item_.table);
  apply(log_.transaction(
      7, {MadeLog::relation(), MadeLog::relation(kItem), MadeLog::truncate({17, kUserOid})}));
  EXPECT_THAT(out_of_step_, ElementsAre(&item_.table, &user_.table));
}

TEST_F(PostgresApplierTest, a_table_that_has_changed_is_out_of_step_and_its_transaction_goes_on) {
  MadeTable again;
  applier_.join(user_.table);
  applier_.join(item_.table);
  MadeRelation changed;
  changed.columns.push_back({.name = "note"});
  apply(log_.transaction(7,
                         {MadeLog::relation(kItem),
                          MadeLog::insert(row_of("2"), 17),
                          MadeLog::relation(changed),
                          MadeLog::insert(row_of("1")),
                          MadeLog::insert(row_of("3"), 17)}));
  EXPECT_THAT(out_of_step_, ElementsAre(&user_.table));
  EXPECT_THAT(why_, HasSubstr("3 columns in the log"));
  EXPECT_THAT(item_.target.rows(), ElementsAre("2", "3"));
  applier_.join(again.table);
  apply(log_.transaction(8, {MadeLog::insert(row_of("4"))}));
  EXPECT_THAT(out_of_step_, ElementsAre(&user_.table, &again.table));
}

// Whose rows look the same by another list of columns.
MadeRelation listed(const std::string& column) {
  return {.columns = {{.name = column, .type = kBigint, .is_key = true}}};
}
TablePlan planned_by_list(const std::string& column) {
  TablePlan plan = planned();
  plan.columns.resize(1);
  plan.columns[0].name = column;
  return plan;
}

TEST_F(PostgresApplierTest, no_row_is_read_by_the_list_of_columns_of_before) {
  MadeTable before(planned_by_list("id"));
  MadeTable after(planned_by_list("number"));
  applier_.join(before.table);
  apply(log_.transaction(
      7, {MadeLog::relation(listed("id")), MadeLog::insert({MadeValue::text("1")})}));
  applier_.join(after.table);
  apply(log_.transaction(
      8, {MadeLog::relation(listed("number")), MadeLog::insert({MadeValue::text("2")})}));
  EXPECT_THAT(out_of_step_, ElementsAre(&before.table));
  EXPECT_THAT(before.target.rows(), ElementsAre("1"));
  EXPECT_THAT(after.target.rows(), ElementsAre("2"));
  apply(log_.transaction(
      9, {MadeLog::relation(listed("id")), MadeLog::insert({MadeValue::text("3")})}));
  EXPECT_THAT(out_of_step_, ElementsAre(&before.table, &after.table));
  EXPECT_THAT(after.target.rows(), ElementsAre("2"));
}

// A table of two partitions, 91 and 92, whose own descriptions come behind the whole's.
struct MadePartitions {
  explicit MadePartitions(bool has_full_rows = false) {
    TablePlan plan = planned();
    plan.is_partitioned = true;
    plan.parts = {91, 92};
    plan.has_full_rows = has_full_rows;
    table.emplace(plan);
    part.identity = whole.identity = has_full_rows ? 'f' : 'd';
  }
  std::vector<std::string> insert(const std::string& id) const {
    return {MadeLog::relation(whole), MadeLog::relation(part), MadeLog::insert(row_of(id))};
  }

  std::optional<MadeTable> table;
  MadeRelation whole;
  MadeRelation part{.oid = 91, .name = "one"};
};

TEST_F(PostgresApplierTest, a_partition_that_names_rows_by_less_puts_its_table_out_of_step) {
  const std::vector<std::function<void(MadeRelation & part)>> changes{
      [](MadeRelation& part) { part.identity = 'd'; },
      [](MadeRelation& part) { part.identity = 'n'; },
      [](MadeRelation& part) { part.oid = 93; }};
  for (const auto& change : changes) {
    out_of_step_.clear();
    MadePartitions made(true);
    applier_.join(made.table->table);
    apply(log_.transaction(7, made.insert("1")));
    EXPECT_THAT(out_of_step_, IsEmpty());
    change(made.part);
    apply(log_.transaction(8, made.insert("2")));
    EXPECT_THAT(out_of_step_, ElementsAre(&made.table->table));
    applier_.leave(made.table->table);
  }
}

TEST_F(PostgresApplierTest, a_partition_names_rows_by_all_that_is_needed) {
  MadePartitions made;
  applier_.join(made.table->table);
  std::swap(made.part.columns[0], made.part.columns[1]);
  apply(log_.transaction(7, made.insert("1")));
  made.part.identity = 'f';
  apply(log_.transaction(8, made.insert("2")));
  EXPECT_THAT(out_of_step_, IsEmpty()) << "in whatever order, or with more";
  made.part.identity = 'i';
  made.part.columns[1].is_key = false;
  made.part.columns[0].is_key = true;
  apply(log_.transaction(9, made.insert("3")));
  EXPECT_THAT(why_, HasSubstr("column \"id\" of rows deleted from its partition \"one\""));
}

// The row is sent as one of the table that it is a partition of by then.
TEST_F(PostgresApplierTest, rows_under_the_name_of_another_table_put_a_table_out_of_step) {
  MadePartitions made;
  applier_.join(user_.table);
  applier_.join(item_.table);
  applier_.join(made.table->table);
  const MadeRelation big{.oid = 99, .name = "big"};
  apply(log_.transaction(7,
                         {MadeLog::relation(big),
                          MadeLog::relation(kItem),
                          MadeLog::insert(row_of("1"), 99),
                          MadeLog::relation(big),
                          MadeLog::relation(made.part),
                          MadeLog::insert(row_of("1"), 99)}));
  EXPECT_THAT(out_of_step_, ElementsAre(&item_.table, &made.table->table));
}

// Else it would be read again for ever: nothing describes it anew.
TEST_F(PostgresApplierTest, what_was_described_before_a_snapshot_is_not_held_against_it) {
  MadePartitions made(true);
  MadePartitions again(true);
  made.part.identity = 'd';
  made.whole.schema = "other";
  applier_.join(made.table->table);
  apply(log_.transaction(7, made.insert("1")));
  EXPECT_THAT(out_of_step_, ElementsAre(&made.table->table));
  applier_.join(again.table->table);
  again.part = {.oid = 92, .name = "two", .identity = 'f'};
  apply(log_.transaction(8, {MadeLog::relation(again.part), MadeLog::insert(row_of("2"))}));
  EXPECT_THAT(out_of_step_, ElementsAre(&made.table->table)) << why_;
  EXPECT_THAT(again.table->target.rows(), ElementsAre("2"));
}

TEST_F(PostgresApplierTest, a_row_that_is_not_understood_puts_one_table_out_of_step) {
  MadeTable again;
  applier_.join(user_.table);
  applier_.join(again.table);
  applier_.join(item_.table);
  apply(log_.transaction(7,
                         {MadeLog::relation(),
                          MadeLog::erase(row_of("1"), 'O'),
                          MadeLog::relation(kItem),
                          MadeLog::insert(row_of("2"), 17)}));
  EXPECT_THAT(out_of_step_, ElementsAre(&user_.table, &again.table));
  EXPECT_THAT(item_.target.rows(), ElementsAre("2"));
}

// Its name may be another one's by then, or the other way round.
TEST_F(PostgresApplierTest, a_table_is_known_by_its_number_and_by_its_name) {
  MadeRelation renamed;
  renamed.name = "customer";
  applier_.join(user_.table);
  apply(log_.transaction(7, {MadeLog::relation(renamed), MadeLog::insert(row_of("1"))}));
  EXPECT_THAT(why_, HasSubstr("\"customer\""));
  MadeTable again;
  MadeRelation other;
  other.oid = 99;
  applier_.join(again.table);
  apply(log_.transaction(8, {MadeLog::relation(other), MadeLog::insert(row_of("1"), 99)}));
  EXPECT_THAT(out_of_step_, ElementsAre(&user_.table, &again.table));
  EXPECT_THAT(why_, HasSubstr("another table has taken its name"));
}

TEST_F(PostgresApplierTest, tells_of_rows_of_a_table_that_nobody_follows_once_per_transaction) {
  applier_.join(user_.table);
  apply(log_.transaction(7,
                         {MadeLog::relation({.oid = 18, .name = "has_no_rows"}),
                          MadeLog::relation(),
                          MadeLog::insert(row_of("1")),
                          MadeLog::relation(kItem),
                          MadeLog::insert(row_of("1"), 17),
                          MadeLog::insert(row_of("2"), 17)}));
  EXPECT_THAT(others_, ElementsAre("public.item"));
  apply(log_.transaction(8, {MadeLog::insert(row_of("3"), 17)}));
  EXPECT_THAT(others_, ElementsAre("public.item", "public.item"));
}

TEST_F(PostgresApplierTest, what_a_table_has_from_before_does_not_matter_to_it) {
  user_.target.has_all_up_to(1010);
  applier_.join(user_.table);
  MadeRelation older;
  older.columns.pop_back();
  apply(log_.transaction(7,
                         {MadeLog::relation(older),
                          MadeLog::insert({MadeValue::text("1")}),
                          MadeLog::truncate({kUserOid})}));
  EXPECT_THAT(out_of_step_, IsEmpty());
  EXPECT_THAT(user_.target.rows(), IsEmpty());
  apply(log_.transaction(8, {MadeLog::relation(), MadeLog::insert(row_of("2"))}));
  EXPECT_THAT(out_of_step_, IsEmpty());
  EXPECT_THAT(user_.target.rows(), ElementsAre("2"));
}

TEST_F(PostgresApplierTest, what_comes_behind_that_does_if_it_is_as_it_was_then) {
  user_.target.has_all_up_to(1010);
  applier_.join(user_.table);
  MadeRelation older;
  older.columns.pop_back();
  apply(log_.transaction(7, {MadeLog::relation(older), MadeLog::insert({MadeValue::text("1")})}));
  apply(log_.transaction(8, {MadeLog::insert({MadeValue::text("1")})}));
  EXPECT_THAT(out_of_step_, ElementsAre(&user_.table));
}

TEST_F(PostgresApplierTest, forgets_what_has_been_seen_and_rests_on_the_rest) {
  for (const Xid xid : {7U, 9U, 8U}) {
    apply(log_.transaction(xid, {}));
  }
  applier_.judge({.snapshot = {.xmin = kEpoch + 8, .xmax = kEpoch + 20, .running = {kEpoch + 8}}});
  EXPECT_THAT(applier_.unseen(), ElementsAre(kEpoch + 8));
  const auto group = applier_.last_group();
  ASSERT_TRUE(group);
  EXPECT_EQ(group->last.end.value, log_.end());
  LogApplier next(applier_.position(), calls());
  next.rest_on({*group, {.last = {{2000}}, .unseen = {1}}});  // of the latter no transaction came
  EXPECT_THAT(next.unseen(), ElementsAre(kEpoch + 8));
  EXPECT_FALSE(Committed{.snapshot = seen_before(kEpoch + 8)}.covers(next.reach()));
  EXPECT_TRUE(Committed{.snapshot = seen_before(kEpoch + 9)}.covers(next.reach()));
}

// A log that has been followed to the end of a transaction, from where it is resumed.
class PostgresApplierResumed : public PostgresApplierTest {
 protected:
  PostgresApplierResumed() {
    applier_.join(user_.table);
    apply({log_.begin(7, 70), MadeLog::relation(), MadeLog::insert(row_of("1")), log_.commit()});
    EXPECT_TRUE(applier_.apply({.message = {}, .end = {log_.end() + 500}}).value());
    EXPECT_EQ(applier_.resume_position().lsn().value, log_.end() - 2);
    applier_.reconnected({}, 0);
  }
  // The same places once more.
  std::vector<std::string> again(std::uint64_t xid, std::uint64_t time) {
    log_.move_to(log_.end() - 10);
    return {
        log_.begin(xid, time), MadeLog::relation(), MadeLog::insert(row_of("1")), log_.commit()};
  }
};

TEST_F(PostgresApplierResumed, goes_on_behind_the_transaction_that_it_knows) {
  EXPECT_TRUE(applier_.is_expecting());
  EXPECT_FALSE(applier_.apply({.message = {}, .end = {log_.end() - 2}}).value());
  EXPECT_TRUE(applier_.is_expecting());
  apply(again(7, 70));
  EXPECT_FALSE(applier_.is_expecting());
  EXPECT_THAT(user_.target.rows(), ElementsAre("1")) << "once";
  apply(log_.transaction(8, {MadeLog::insert(row_of("2"))}));
  EXPECT_THAT(user_.target.rows(), ElementsAre("1", "2"))
      << "another history has it where the first had nothing";
}

TEST_F(PostgresApplierTest, needs_a_small_transaction_that_is_not_long_ago) {
  constexpr std::uint64_t kMost = 100;
  EXPECT_TRUE(applier_.needs_transaction(kMost)) << "there is none";
  ASSERT_TRUE(applier_.apply({.message = log_.begin(7), .end = {log_.end() - 5}}));
  ASSERT_TRUE(applier_.apply({.message = log_.commit(), .end = {log_.end()}}));
  EXPECT_FALSE(applier_.needs_transaction(kMost));
  keepalive(log_.end() + kMost, true);
  EXPECT_TRUE(applier_.needs_transaction(kMost)) << "it is long ago";
  log_.move_to(log_.end() + kMost);
  ASSERT_TRUE(applier_.apply({.message = log_.begin(8), .end = {log_.end() - kMost - 3}}));
  ASSERT_TRUE(applier_.apply({.message = log_.commit(), .end = {log_.end()}}));
  EXPECT_TRUE(applier_.needs_transaction(kMost)) << "all of it would come again";
}

TEST_F(PostgresApplierResumed, does_not_believe_another_transaction_at_its_place) {
  for (const auto& [xid, time] : {std::pair(8, 70), {7, 71}}) {
    log_.move_to(log_.end() - 10);
    EXPECT_FALSE(applier_.apply({.message = log_.begin(xid, time), .end = {log_.end()}}));
    EXPECT_EQ(applier_.why_void(), kOtherLog);
    EXPECT_TRUE(applier_.is_expecting());
  }
}

TEST_F(PostgresApplierResumed, does_not_believe_a_log_that_lacks_it) {
  EXPECT_FALSE(applier_.apply({.message = log_.begin(8, 80), .end = {log_.end()}}));
  EXPECT_EQ(applier_.why_void(), kOtherLog);
}

TEST_F(PostgresApplierResumed, does_not_believe_a_log_that_is_sent_beyond_it) {
  EXPECT_FALSE(applier_.apply({.message = {}, .end = {log_.end()}}));
  EXPECT_EQ(applier_.why_void(), kOtherLog);
}

TEST_F(PostgresApplierResumed, needs_a_log_that_is_as_long) {
  EXPECT_TRUE(applier_.expects_more_than(LogPosition({log_.end() - 1})));
  EXPECT_FALSE(applier_.expects_more_than(LogPosition({log_.end()})));
}

TEST_F(PostgresApplierResumed, by_checkpoints_comes_by_the_last_of_each) {
  const LogGroup later{.last = {{log_.end() + 10}},
                       .unseen = {},
                       .commit = {.lsn = {log_.end() + 8}, .time = {80}, .xid = 8}};
  const auto first = applier_.last_group();
  ASSERT_TRUE(first);
  LogApplier next(LogPosition(first->last.end), calls());
  next.rest_on({*first, later});
  next.reconnected({}, 0);
  for (const std::string& message : again(7, 70)) {
    ASSERT_TRUE(next.apply({.message = message, .end = {log_.end()}}));
  }
  EXPECT_TRUE(next.is_expecting());
  EXPECT_FALSE(next.apply({.message = log_.begin(8, 81), .end = {log_.end()}}));
  EXPECT_EQ(next.why_void(), kOtherLog);
}

TEST_F(PostgresApplierTest, a_table_of_another_fingerprint_is_out_of_step) {
  applier_.join(user_.table);
  applier_.join(item_.table);
  judge({{"user", "as planned"}, {"item", "as planned"}});
  EXPECT_THAT(out_of_step_, IsEmpty());
  judge({{"user", "other"}});
  EXPECT_THAT(out_of_step_, ElementsAre(&user_.table, &item_.table));
  EXPECT_THAT(why_, HasSubstr("\"item\" does not exist any more"));
  EXPECT_THAT(others_, IsEmpty());
  judge({{"user", "as planned"}});
  EXPECT_THAT(others_, ElementsAre("public.user")) << "nobody follows it now";
  EXPECT_EQ(out_of_step_.size(), 2U) << "once";
}

TEST_F(PostgresApplierTest, two_phase_commits_put_all_out_of_step_and_are_waited_for) {
  applier_.join(user_.table);
  apply({log_.begin(7), MadeLog::relation(), log_.commit()});
  const auto names = big_endian(1100, 8) + big_endian(1110, 8) + big_endian(0, 8);
  apply({'b' + names + big_endian(8, 4) + "gid" + '\0',
         MadeLog::insert(row_of("1")),
         std::string("P\0", 2) + names + big_endian(8, 4) + "gid" + '\0'});
  EXPECT_THAT(out_of_step_, ElementsAre(&user_.table));
  EXPECT_EQ(definitions_, 1);
  MadeTable again;
  applier_.join(again.table);
  apply({std::string("K\0", 2) + names + big_endian(8, 4) + "gid" + '\0'});
  EXPECT_THAT(out_of_step_, ElementsAre(&user_.table, &again.table));
  EXPECT_THAT(applier_.unseen(), ElementsAre(kEpoch + 7, kEpoch + 8));
  EXPECT_EQ(position(), 1110U);
}

// A number is the one next to the last one, not to the stream's beginning.
TEST_F(PostgresApplierTest, numbers_may_go_on_for_ever) {
  for (const Xid xid : {0x7fff'0000U, 0xfffe'0000U, 5U}) {
    apply(log_.transaction(xid, {}));
  }
  EXPECT_THAT(
      applier_.unseen(),
      ElementsAre(kEpoch + 0x7fff'0000U, kEpoch + 0xfffe'0000U, kEpoch + (1ULL << 32U) + 5));
}

TEST_F(PostgresApplierTest, what_is_no_row_changes_nothing) {
  applier_.join(user_.table);
  apply({log_.begin(7),
         'O' + big_endian(1, 8) + "elsewhere" + '\0',
         'Y' + big_endian(99, 4) + "public" + '\0' + "mood" + '\0',
         MadeLog::relation(),
         MadeLog::insert(row_of("1")),
         log_.commit()});
  EXPECT_THAT(out_of_step_, IsEmpty());
  EXPECT_THAT(user_.target.rows(), ElementsAre("1"));
}

}  // namespace
}  // namespace cuckooguard::source::postgres
