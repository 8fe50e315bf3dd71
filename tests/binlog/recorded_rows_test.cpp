// Rows as a real server logged them become, column by column, the text that its SELECT gives.

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "replay.h"

namespace cuckooguard::binlog {
namespace {

class RecordedRows : public ::testing::TestWithParam<std::string> {};

TEST_P(RecordedRows, become_the_texts_of_select) {
  const std::string name = GetParam();
  const auto tables = recorded_tables(name);
  ASSERT_FALSE(tables.empty());
  Replay replay(tables, name == "mariadb_types");
  for (const std::string& event : recorded_events(name)) {
    replay.apply(event);
    ASSERT_FALSE(HasFatalFailure());
  }
  EXPECT_GT(replay.row_events(), 5);
  EXPECT_EQ(replay.payloads() > 0, name == "mysql_compressed" || name == "mysql_unchecked");
  for (const auto& [table, expected] : tables) {
    SCOPED_TRACE(table);
    EXPECT_FALSE(expected.rows.empty());
    EXPECT_THAT(replay.rows_of(table), ::testing::UnorderedElementsAreArray(expected.rows));
  }
}

INSTANTIATE_TEST_SUITE_P(All,
                         RecordedRows,
                         ::testing::Values("mariadb_types",
                                           "mariadb_types_minimal",
                                           "mariadb_types_full",
                                           "mariadb_11_types_full",
                                           "mariadb_images",
                                           "mariadb_compressed",
                                           "mariadb_unchecked",
                                           "mysql_types",
                                           "mysql_types_full",
                                           "mysql_images",
                                           "mysql_compressed",
                                           "mysql_unchecked"),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace cuckooguard::binlog
