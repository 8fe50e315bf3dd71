#include "follow/joined_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cuckooguard::source {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class JoinedTablesTest : public testing::Test {
 protected:
  int user_ = 0;
  int item_ = 0;
  JoinedTables<int> tables_;
};

TEST_F(JoinedTablesTest, a_table_is_there_once_it_is_admitted_until_it_leaves) {
  tables_.join(user_);
  EXPECT_FALSE(tables_.has(user_));
  EXPECT_THAT(tables_.all(), IsEmpty());
  tables_.admit();
  tables_.join(item_);
  EXPECT_TRUE(tables_.has(user_));
  EXPECT_THAT(tables_.all(), ElementsAre(&user_));
  tables_.leave(user_);
  tables_.leave(item_);
  tables_.admit();
  EXPECT_FALSE(tables_.has(user_));
  EXPECT_THAT(tables_.all(), IsEmpty());
}

TEST_F(JoinedTablesTest, each_admission_has_a_number) {
  tables_.join(user_);
  tables_.join(item_);
  EXPECT_EQ(tables_.joins(), 0U);
  tables_.admit();
  EXPECT_EQ(tables_.join_of(user_), 1U);
  EXPECT_EQ(tables_.join_of(item_), 2U);
  tables_.leave(user_);
  EXPECT_EQ(tables_.join_of(user_), 0U);
  tables_.join(user_);
  tables_.admit();
  EXPECT_EQ(tables_.join_of(user_), 3U);
  EXPECT_EQ(tables_.joins(), 3U);
}

TEST_F(JoinedTablesTest, who_waits_for_a_snapshot_does_so_until_it_ends_or_leaves) {
  tables_.begin_waiting(user_);
  tables_.begin_waiting(item_);
  tables_.end_waiting(user_);
  EXPECT_FALSE(tables_.is_waiting(user_));
  EXPECT_TRUE(tables_.is_waiting(item_));
  tables_.leave(item_);
  EXPECT_FALSE(tables_.is_waiting(item_));
}

}  // namespace
}  // namespace cuckooguard::source
