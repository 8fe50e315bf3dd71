#include <string>
#include <variant>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pgoutput/message_decoder.h"
#include "postgres/log_applier.h"
#include "source/postgres/made_log.h"

namespace cuckooguard::source::postgres {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Changed = std::expected<void, std::string>;

// The name as well is needed of rows.
TablePlan planned_with_name() {
  TablePlan plan = planned();
  plan.identity = {1, 0};
  plan.columns[1].replica_key = 2;
  plan.primary_key = {0, 1};
  return plan;
}
TablePlan planned_full() {
  TablePlan plan = planned_with_name();
  plan.columns[1].replica_key = 0;
  plan.columns[0].replica_key = 0;
  plan.has_full_rows = true;
  return plan;
}
MadeRelation relation_with_name() {
  MadeRelation relation;
  relation.columns[1].is_key = true;
  return relation;
}
MadeRelation full_relation() {
  MadeRelation relation = relation_with_name();
  relation.identity = 'f';
  return relation;
}

class PostgresFollowedTableTest : public testing::Test {
 protected:
  Changed tell(MadeTable& made, const std::string& message) {
    const auto decoded = decoder_.decode(message);
    if (!decoded) {
      return std::unexpected(pgoutput::describe(decoded.error()));
    }
    if (const auto* const relation = std::get_if<pgoutput::Relation>(&*decoded)) {
      return made.table.relation(*relation);
    }
    if (const auto* const insert = std::get_if<pgoutput::Insert>(&*decoded)) {
      return made.table.insert(*insert);
    }
    if (const auto* const update = std::get_if<pgoutput::Update>(&*decoded)) {
      return made.table.update(*update);
    }
    return made.table.erase(std::get<pgoutput::Delete>(*decoded));
  }
  void good(MadeTable& made, const std::string& message) {
    const auto done = tell(made, message);
    ASSERT_TRUE(done) << done.error();
  }
  std::string bad(MadeTable& made, const std::string& message) {
    const auto done = tell(made, message);
    return done ? "it was taken" : done.error();
  }
  static void commit(MadeTable& made) {
    ASSERT_TRUE(made.table.commit_inserts({}));
    ASSERT_TRUE(made.table.commit_erases({}));
  }

  pgoutput::MessageDecoder decoder_;
  MadeTable user_;
};

TEST_F(PostgresFollowedTableTest, rows_come_change_their_key_and_go) {
  good(user_, MadeLog::relation());
  good(user_, MadeLog::insert(row_of("1")));
  good(user_, MadeLog::insert(row_of("2")));
  commit(user_);
  EXPECT_THAT(user_.target.rows(), ElementsAre("1", "2"));
  good(user_, MadeLog::update('K', key_of("1"), row_of("7")));
  good(user_, MadeLog::erase(key_of("2")));
  commit(user_);
  EXPECT_THAT(user_.target.rows(), ElementsAre("7"));
}

TEST_F(PostgresFollowedTableTest, an_update_without_an_old_row_changes_nothing) {
  good(user_, MadeLog::relation());
  good(user_, MadeLog::insert(row_of("1")));
  commit(user_);
  good(user_, MadeLog::update(0, {}, row_of("1")));
  EXPECT_FALSE(user_.table.is_touched());
}

// They have swapped their names, perhaps for one row only.
TEST_F(PostgresFollowedTableTest, columns_in_another_order_are_other_columns) {
  MadeRelation turned;
  std::swap(turned.columns[0].name, turned.columns[1].name);
  EXPECT_THAT(bad(user_, MadeLog::relation(turned)),
              HasSubstr("the log has column \"name\" where the catalog has \"id\""));
}

TEST_F(PostgresFollowedTableTest, full_rows_tell_what_any_column_was) {
  MadeTable full(planned_full());
  good(full, MadeLog::relation(full_relation()));
  good(full, MadeLog::insert(row_of("1")));
  good(full, MadeLog::insert({MadeValue::text("2"), MadeValue::null()}));
  commit(full);
  EXPECT_THAT(full.target.rows(), ElementsAre("NULL|2", "name of 1|1"));
  good(full, MadeLog::update('O', row_of("1"), {MadeValue::text("1"), MadeValue::text("other")}));
  good(full, MadeLog::erase({MadeValue::text("2"), MadeValue::null()}, 'O'));
  commit(full);
  EXPECT_THAT(full.target.rows(), ElementsAre("other|1"));
}

TEST_F(PostgresFollowedTableTest, a_long_value_that_has_not_changed_is_the_old_rows) {
  MadeTable full(planned_full());
  good(full, MadeLog::relation(full_relation()));
  good(full, MadeLog::insert(row_of("1")));
  commit(full);
  good(full, MadeLog::update('O', row_of("1"), {MadeValue::text("7"), MadeValue::unchanged()}));
  commit(full);
  EXPECT_THAT(full.target.rows(), ElementsAre("name of 1|7"));
}

TEST_F(PostgresFollowedTableTest, a_key_of_which_a_part_has_changed_has_the_rest_from_the_old_row) {
  MadeTable named(planned_with_name());
  good(named, MadeLog::relation(relation_with_name()));
  good(named, MadeLog::insert(row_of("1")));
  commit(named);
  good(named, MadeLog::update('K', row_of("1"), {MadeValue::text("7"), MadeValue::unchanged()}));
  commit(named);
  EXPECT_THAT(named.target.rows(), ElementsAre("name of 1|7"));
}

TEST_F(PostgresFollowedTableTest, what_cannot_be_known_of_a_row_is_not_guessed) {
  MadeTable full(planned_full());
  EXPECT_THAT(bad(full, MadeLog::insert(row_of("1"))), HasSubstr("without describing the table"));
  good(full, MadeLog::relation(full_relation()));
  EXPECT_THAT(bad(full, MadeLog::update(0, {}, row_of("1"))),
              HasSubstr("without its previous values"));
  EXPECT_THAT(bad(full, MadeLog::update('K', key_of("1"), row_of("1"))),
              HasSubstr("without its previous values"));
  EXPECT_THAT(bad(full, MadeLog::erase(key_of("1"))), HasSubstr("different REPLICA IDENTITY"));
  const MadeRow unchanged{MadeValue::text("1"), MadeValue::unchanged()};
  EXPECT_THAT(bad(full, MadeLog::update('O', unchanged, unchanged)),
              HasSubstr("without column \"name\", which has not changed"));
  EXPECT_THAT(bad(full, MadeLog::insert({MadeValue::text("1"), MadeValue::binary("x")})),
              HasSubstr("column \"name\" is not text"));
  EXPECT_THAT(bad(full, MadeLog::insert({MadeValue::text("1")})), HasSubstr("of 1 columns"));
  EXPECT_THAT(bad(full, MadeLog::update('O', {MadeValue::text("1")}, row_of("1"))),
              HasSubstr("of 1 columns"));
  EXPECT_FALSE(full.table.is_touched());
  good(user_, MadeLog::relation());
  EXPECT_THAT(bad(user_, MadeLog::erase(row_of("1"), 'O')),
              HasSubstr("different REPLICA IDENTITY"));
}

TEST_F(PostgresFollowedTableTest, what_is_not_needed_may_be_anything) {
  good(user_, MadeLog::relation());
  good(user_, MadeLog::insert({MadeValue::text("1"), MadeValue::binary("x")}));
  good(user_, MadeLog::update('K', key_of("1"), {MadeValue::text("2"), MadeValue::unchanged()}));
  commit(user_);
  EXPECT_THAT(user_.target.rows(), ElementsAre("2"));
}

TEST_F(PostgresFollowedTableTest, a_table_that_is_not_as_it_was_planned_has_changed) {
  struct Case {
    std::function<void(MadeRelation& relation)> change;
    std::string why;
  };
  const std::vector<Case> cases{
      {[](MadeRelation& is) { is.name = "customer"; }, "\"public\".\"customer\""},
      {[](MadeRelation& is) { is.schema = "old"; }, "\"old\".\"user\""},
      {[](MadeRelation& is) { is.oid = 7; }, "another table has taken its name"},
      {[](MadeRelation& is) { is.identity = 'f'; }, "REPLICA IDENTITY"},
      {[](MadeRelation& is) { is.identity = 'n'; }, "REPLICA IDENTITY"},
      {[](MadeRelation& is) { is.columns.push_back({.name = "note"}); }, "3 columns"},
      {[](MadeRelation& is) { is.columns.pop_back(); }, "1 columns"},
      {[](MadeRelation& is) { is.columns[1].name = "label"; }, "\"label\" where the catalog has"},
      {[](MadeRelation& is) { is.columns[0].type = 23; }, "\"id\" is bigint in the catalog"},
      {[](MadeRelation& is) { is.columns[1].modifier = 40; }, "\"name\" is text in the catalog"},
      {[](MadeRelation& is) { is.columns[1].is_key = true; },
       "\"name\" is part of the replica identity"},
      {[](MadeRelation& is) { is.columns[0].is_key = false; },
       "\"id\" is part of the replica identity"},
  };
  good(user_, MadeLog::relation());
  for (const Case& each : cases) {
    MadeRelation relation;
    each.change(relation);
    EXPECT_THAT(bad(user_, MadeLog::relation(relation)), HasSubstr(each.why));
    EXPECT_THAT(bad(user_, MadeLog::insert(row_of("1"))),
                HasSubstr("without describing the table"));
  }
  MadeRelation index;
  index.identity = 'i';
  good(user_, MadeLog::relation(index));
}

TEST_F(PostgresFollowedTableTest, a_needed_column_that_the_log_does_not_have_of_deleted_rows) {
  TablePlan plan = planned();
  plan.identity = {1};
  MadeTable named(plan);
  EXPECT_THAT(bad(named, MadeLog::relation()),
              HasSubstr("does not have column \"name\" of deleted rows"));
}

}  // namespace
}  // namespace cuckooguard::source::postgres
