// Rows as a real server logged them become, column by column, the text that its SELECT gives.

#include <algorithm>
#include <optional>
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

// A JSON value of which the log has what was changed.
TEST(RecordedRows, that_were_changed_in_part_have_all_other_columns) {
  EventDecoder decoder;
  std::optional<TableLayout> layout;
  std::vector<std::string> changed;
  for (const std::string& bytes : recorded_events("mysql_gtids")) {
    const auto event = decoder.decode(bytes);
    ASSERT_TRUE(event);
    if (const auto* const map = std::get_if<TableMap>(&event->body)) {
      layout = TableLayout::parse(*map, false).value();
    }
    const auto* const rows = std::get_if<Rows>(&event->body);
    if (rows == nullptr || !rows->is_partial) {
      continue;
    }
    RowReader reader =
        RowReader::make(*layout,
                        std::vector<ColumnChoice>{{.column = 0, .is_unsigned = false},
                                                  {.column = 1, .is_null_only = true}})
            .value();
    ASSERT_TRUE(reader.open(*rows));
    ASSERT_TRUE(reader.next().value());
    EXPECT_EQ(reader.before(0).text, "1");
    EXPECT_EQ(reader.after(0).text, "1");
    EXPECT_EQ(reader.after(1).state, Value::State::present);
    EXPECT_FALSE(reader.next().value());
    changed.emplace_back(rows->images);
  }
  EXPECT_EQ(changed.size(), 1U);
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
