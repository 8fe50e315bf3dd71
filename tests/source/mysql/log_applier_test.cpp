#include "mysql/log_applier.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "source/mysql/made_log.h"

namespace cuckooguard::source::mysql {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class LogApplierTest : public testing::Test {
 protected:
  LogApplierTest() { apply({binlog::make_format(binlog::Brand::mariadb)}); }

  void apply(const std::vector<std::string>& events) { apply_to(applier_, events); }
  static void apply_to(LogApplier& applier, const std::vector<std::string>& events) {
    for (const std::string& event : events) {
      const auto applied = applier.apply(event);
      ASSERT_TRUE(applied) << applied.error();
    }
  }
  LogApplier::Calls calls() {
    return {.on_out_of_step = [this](FollowedTable& table, std::string_view why) {
      out_of_step_.push_back(&table);
      why_ = why;
    }};
  }
  void insert(std::uint32_t id) {
    apply({log_.begin(), MadeLog::map(1, "user"), MadeLog::insert(1, id), MadeLog::commit()});
  }
  bool is_out_of_step(const MadeTable& table) const {
    return std::ranges::find(out_of_step_, &table.table) != out_of_step_.end();
  }

  MadeLog log_;
  MadeTable user_{"user"};
  std::vector<const FollowedTable*> out_of_step_;
  std::string why_;  // of the last one
  LogApplier applier_{LogPosition::parse("", true).value(), calls()};
};

TEST_F(LogApplierTest, tells_all_that_follow_a_table_of_its_rows_and_no_others) {
  MadeTable again("user");
  MadeTable other("item");
  for (MadeTable* const table : {&user_, &again, &other}) {
    applier_.join(table->table);
  }
  apply({log_.begin(),
         MadeLog::map(1, "user"),
         MadeLog::map(2, "item"),
         MadeLog::insert(1, 7),
         MadeLog::insert(2, 8),
         MadeLog::update(1, 7, 9),
         MadeLog::commit()});
  EXPECT_THAT(user_.target.ids(), ElementsAre(9));
  EXPECT_THAT(again.target.ids(), ElementsAre(9));
  EXPECT_THAT(other.target.ids(), ElementsAre(8));
  EXPECT_EQ(applier_.position().text(), "0-77-1");
}

TEST_F(LogApplierTest, a_table_that_joins_within_a_transaction_is_told_from_the_next_one_on) {
  apply({log_.begin(), MadeLog::map(1, "user"), MadeLog::insert(1, 7)});
  applier_.join(user_.table);
  EXPECT_FALSE(applier_.has_joined(user_.table));
  apply({MadeLog::insert(1, 8), MadeLog::map(1, "user"), MadeLog::insert(1, 9), MadeLog::commit()});
  EXPECT_TRUE(applier_.has_joined(user_.table));
  insert(10);
  EXPECT_THAT(user_.target.ids(), ElementsAre(10));
}

TEST_F(LogApplierTest, a_table_that_has_left_is_told_no_more) {
  applier_.join(user_.table);
  apply({log_.begin(), MadeLog::map(1, "user"), MadeLog::insert(1, 7)});
  applier_.leave(user_.table);
  apply({MadeLog::insert(1, 8), MadeLog::commit()});
  insert(9);
  EXPECT_THAT(user_.target.ids(), IsEmpty());
}

TEST_F(LogApplierTest, a_transaction_that_was_cut_off_is_applied_once_when_it_comes_again) {
  applier_.join(user_.table);
  MadeLog again = log_;
  insert(1);
  apply({log_.begin(), MadeLog::map(1, "user"), MadeLog::insert(1, 7)});
  applier_.reconnected({}, 1);
  apply({binlog::make_format(binlog::Brand::mariadb),
         again.begin(),
         MadeLog::map(1, "user"),
         MadeLog::insert(1, 1),
         MadeLog::commit(),
         again.begin(),
         MadeLog::map(1, "user"),
         MadeLog::insert(1, 7),
         MadeLog::commit()});
  EXPECT_THAT(user_.target.ids(), ElementsAre(1, 7));
  EXPECT_EQ(applier_.position().text(), "0-77-2");
}

TEST_F(LogApplierTest, a_transaction_that_was_applied_is_skipped_when_it_comes_again) {
  applier_.join(user_.table);
  MadeLog again = log_;
  insert(7);
  applier_.reconnected({}, 1);
  log_ = again;
  apply({binlog::make_format(binlog::Brand::mariadb)});
  insert(7);
  insert(8);
  EXPECT_THAT(user_.target.ids(), ElementsAre(7, 8));
}

// With gtid_strict_mode off, of two servers that write into one domain.
TEST_F(LogApplierTest, a_number_that_another_server_has_passed_puts_all_tables_out_of_step) {
  for (const std::uint64_t sequence : {10U, 9U, 1U}) {
    SCOPED_TRACE(sequence);
    MadeTable other("item");
    MadeTable restored("user");
    restored.target.has_all_up_to(LogPosition::parse("0-77-20", true).value());
    log_.number_from(77, 10);
    LogApplier two_writers(LogPosition::parse("", true).value(), calls());
    for (MadeTable* const table : {&user_, &other, &restored}) {
      two_writers.join(table->table);
    }
    apply_to(two_writers,
             {binlog::make_format(binlog::Brand::mariadb),
              log_.begin(),
              MadeLog::map(1, "user"),
              MadeLog::insert(1, 7),
              MadeLog::commit()});
    log_.number_from(78, sequence);
    apply_to(two_writers,
             {log_.begin(), MadeLog::map(1, "user"), MadeLog::insert(1, 8), MadeLog::commit()});
    EXPECT_TRUE(is_out_of_step(user_));
    EXPECT_TRUE(is_out_of_step(other));
    EXPECT_TRUE(is_out_of_step(restored));
    EXPECT_EQ(two_writers.position().text(), "0-78-" + std::to_string(sequence))
        << "where the log is";
    out_of_step_.clear();
  }
}

// An old log that was fed to its server again.
TEST_F(LogApplierTest, a_number_that_the_stream_has_passed_puts_all_tables_out_of_step) {
  applier_.join(user_.table);
  insert(7);
  insert(8);
  log_.number_from(77, 1);
  insert(9);
  EXPECT_TRUE(is_out_of_step(user_));
}

TEST_F(LogApplierTest, servers_that_write_one_after_the_other_leave_tables_in_step) {
  applier_.join(user_.table);
  insert(7);
  log_.number_from(78, 2);
  insert(8);
  log_.number_from(77, 3);
  insert(9);
  EXPECT_THAT(out_of_step_, IsEmpty());
  EXPECT_THAT(user_.target.ids(), ElementsAre(7, 8, 9));
}

TEST_F(LogApplierTest, prepared_rows_come_with_their_verdict) {
  applier_.join(user_.table);
  apply({log_.begin_prepared("a"),
         MadeLog::map(1, "user"),
         MadeLog::insert(1, 7),
         MadeLog::prepare("a")});
  apply({log_.begin_prepared("b"),
         MadeLog::map(1, "user"),
         MadeLog::insert(1, 8),
         MadeLog::prepare("b")});
  EXPECT_THAT(user_.target.ids(), IsEmpty());
  apply({log_.begin_verdict("b"), MadeLog::xa_verdict("ROLLBACK", "b")});
  apply({log_.begin_verdict("a"), MadeLog::xa_verdict("COMMIT", "a")});
  EXPECT_THAT(user_.target.ids(), ElementsAre(7));
  EXPECT_THAT(out_of_step_, IsEmpty());
}

// Of the rows that were prepared before it came a table has not heard: they are in no snapshot of
// before the verdict.
TEST_F(LogApplierTest,
       a_table_is_out_of_step_if_rows_are_committed_that_were_prepared_before_it_joined) {
  apply({log_.begin_prepared("a"),
         MadeLog::map(1, "user"),
         MadeLog::insert(1, 7),
         MadeLog::prepare("a")});
  applier_.join(user_.table);
  EXPECT_TRUE(applier_.has_joined(user_.table));
  apply({log_.begin_verdict("a"), MadeLog::xa_verdict("COMMIT", "a")});
  EXPECT_TRUE(is_out_of_step(user_));
}

TEST_F(LogApplierTest,
       a_table_is_out_of_step_if_rows_are_committed_that_were_prepared_while_it_joined) {
  apply({log_.begin_prepared("a"), MadeLog::map(1, "user")});
  applier_.join(user_.table);
  apply({MadeLog::insert(1, 7), MadeLog::prepare("a")});
  EXPECT_TRUE(applier_.has_joined(user_.table));
  apply({log_.begin_verdict("a"), MadeLog::xa_verdict("COMMIT", "a")});
  EXPECT_TRUE(is_out_of_step(user_));
}

TEST_F(LogApplierTest,
       a_table_is_out_of_step_if_rows_are_committed_that_were_prepared_before_the_log_began) {
  applier_.join(user_.table);
  apply({log_.begin_verdict("a"), MadeLog::xa_verdict("COMMIT", "a")});
  EXPECT_TRUE(is_out_of_step(user_));
}

// As long as its snapshot is still to come: that will have them.
TEST_F(LogApplierTest,
       a_table_that_waits_for_its_snapshot_stays_in_step_when_such_rows_are_committed) {
  for (const char* const xid : {"a", "b"}) {
    apply({log_.begin_prepared(xid),
           MadeLog::map(1, "user"),
           MadeLog::insert(1, 7),
           MadeLog::prepare(xid)});
  }
  applier_.join(user_.table);
  applier_.begin_waiting(user_.table);
  apply({log_.begin_verdict("a"), MadeLog::xa_verdict("COMMIT", "a")});
  EXPECT_FALSE(is_out_of_step(user_));
  EXPECT_TRUE(applier_.is_prepared_before(user_.table));
  applier_.end_waiting(user_.table);
  apply({log_.begin_verdict("b"), MadeLog::xa_verdict("COMMIT", "b")});
  EXPECT_TRUE(is_out_of_step(user_));
}

TEST_F(LogApplierTest, only_tables_that_joined_late_are_out_of_step_when_such_rows_are_committed) {
  MadeTable late("user");
  applier_.join(user_.table);
  apply({log_.begin_prepared("a"),
         MadeLog::map(1, "user"),
         MadeLog::insert(1, 7),
         MadeLog::prepare("a")});
  applier_.join(late.table);
  EXPECT_FALSE(applier_.is_prepared_before(user_.table));
  apply({log_.begin_verdict("a"), MadeLog::xa_verdict("COMMIT", "a")});
  EXPECT_TRUE(is_out_of_step(late));
  EXPECT_FALSE(is_out_of_step(user_));
  EXPECT_THAT(user_.target.ids(), ElementsAre(7));
}

TEST_F(LogApplierTest, more_prepared_transactions_than_can_be_kept_put_all_tables_out_of_step) {
  applier_.join(user_.table);
  for (std::size_t i = 0; i <= PreparedTransactions::kCountMax; ++i) {
    EXPECT_FALSE(is_out_of_step(user_)) << i;
    const std::string xid = std::to_string(i);
    apply({log_.begin_prepared(xid),
           MadeLog::map(1, "user"),
           MadeLog::insert(1, static_cast<std::uint32_t>(i)),
           MadeLog::prepare(xid)});
  }
  EXPECT_TRUE(is_out_of_step(user_));
}

TEST_F(LogApplierTest, knows_which_xa_transactions_the_log_has_ended) {
  const binlog::Xid xid = binlog::Xid::make(1, "a", "").value();
  EXPECT_EQ(applier_.xa_state(xid), XaState::unknown);
  apply({log_.begin_prepared("a"), MadeLog::prepare("a")});
  EXPECT_EQ(applier_.xa_state(xid), XaState::prepared);
  apply({log_.begin_verdict("a"), MadeLog::xa_verdict("COMMIT", "a")});
  EXPECT_EQ(applier_.xa_state(xid), XaState::ended);
}

TEST_F(LogApplierTest, what_may_define_a_table_anew_puts_it_out_of_step_and_no_other) {
  MadeTable other("item");
  applier_.join(user_.table);
  applier_.join(other.table);
  apply({log_.begin_definition(), MadeLog::query("ALTER TABLE `user` ADD COLUMN note TEXT")});
  EXPECT_TRUE(is_out_of_step(user_));
  EXPECT_FALSE(is_out_of_step(other));
  insert(7);
  EXPECT_THAT(user_.target.ids(), IsEmpty());
}

// What changes a definition without a word in the log: only the columns themselves tell.
TEST_F(LogApplierTest, a_table_whose_columns_are_not_the_planned_ones_is_out_of_step) {
  constexpr char kInt = 3;
  constexpr char kBigInt = 8;
  const std::string wrong[] = {{kBigInt}, {kInt, kBigInt}, {}};
  for (const std::string& types : wrong) {
    MadeTable user("user");
    applier_.join(user.table);
    apply({log_.begin(), MadeLog::map_of(1, "user", types), MadeLog::commit()});
    EXPECT_TRUE(is_out_of_step(user)) << types.size();
  }
  EXPECT_THAT(why_, HasSubstr("it has 0 columns in the log and 1 in the schema"));
}

// MariaDB's, of a UNIQUE key over a text.
TEST_F(LogApplierTest, a_table_with_columns_that_only_the_log_shows_stays_in_step) {
  constexpr char kInt = 3;
  constexpr char kBigInt = 8;
  user_.plan.hidden_columns = 1;
  applier_.join(user_.table);
  apply({log_.begin(), MadeLog::map_of(1, "user", {kInt, kBigInt}), MadeLog::commit()});
  EXPECT_THAT(out_of_step_, IsEmpty());
  apply({log_.begin(), MadeLog::map(1, "user"), MadeLog::commit()});
  EXPECT_TRUE(is_out_of_step(user_)) << "the key has gone";
}

TEST_F(LogApplierTest, what_drops_its_database_puts_a_table_out_of_step) {
  applier_.join(user_.table);
  apply({log_.begin_definition(), MadeLog::query("DROP DATABASE IF EXISTS `other`")});
  EXPECT_FALSE(is_out_of_step(user_));
  apply({log_.begin_definition(), MadeLog::query("DROP DATABASE IF EXISTS `shop`")});
  EXPECT_TRUE(is_out_of_step(user_));
}

// Which of its rows have stayed depends on their tables' engines.
TEST_F(LogApplierTest, a_transaction_that_was_logged_and_rolled_back_puts_its_tables_out_of_step) {
  for (const char* const statement : {"ROLLBACK", "ROLLBACK TO `a`"}) {
    MadeTable other("item");
    MadeTable touched("user");
    applier_.join(other.table);
    applier_.join(touched.table);
    apply({log_.begin(),
           MadeLog::map(1, "user"),
           MadeLog::insert(1, 7),
           MadeLog::query(statement),
           MadeLog::commit()});
    EXPECT_THAT(touched.target.ids(), IsEmpty()) << statement;
    EXPECT_TRUE(is_out_of_step(touched)) << statement;
    EXPECT_FALSE(is_out_of_step(other)) << statement;
    applier_.leave(other.table);
  }
}

TEST_F(LogApplierTest, a_statement_in_place_of_rows_puts_all_tables_out_of_step) {
  MadeTable other("item");
  applier_.join(user_.table);
  applier_.join(other.table);
  apply({log_.begin(), MadeLog::query("DELETE FROM x"), MadeLog::query("COMMIT")});
  EXPECT_TRUE(is_out_of_step(user_));
  EXPECT_TRUE(is_out_of_step(other));
}

}  // namespace
}  // namespace cuckooguard::source::mysql
