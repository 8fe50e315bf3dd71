// How tables are read is asked of a real server (integration/mariadb_tables_test.cpp,
// integration/exactness).
#include "mysql/table_loader.h"

#include <gtest/gtest.h>

#include "source/mysql/made_log.h"

namespace cuckooguard::source {
namespace {

TEST(CheckUnchanged, refuses_a_definition_that_is_not_the_one_that_was_planned) {
  const MysqlTable plan = planned("user");
  EXPECT_TRUE(check_unchanged(plan, plan));
  MysqlTable now = plan;
  now.columns.front().column_type = "bigint";
  EXPECT_FALSE(check_unchanged(plan, now));
  now = plan;
  now.columns.push_back(plan.columns.front());
  EXPECT_FALSE(check_unchanged(plan, now));
  EXPECT_FALSE(check_unchanged(plan, std::unexpected<MysqlTrouble>("it is gone")));
}

}  // namespace
}  // namespace cuckooguard::source
