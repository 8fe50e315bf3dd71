// What real servers log beside rows: transactions, their GTIDs, DDL, XA, statements as text.

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "transcript.h"

namespace cuckooguard::binlog {
namespace {

using Lines = std::vector<std::string>;

class MariaDbStatements : public ::testing::TestWithParam<std::string> {};

TEST_P(MariaDbStatements, are_told_apart) {
  EXPECT_THAT(
      transcript(recorded_events(GetParam())),
      ::testing::ElementsAreArray(Lines{"format",
                                        "previous",
                                        "gtid standalone ddl",
                                        "create",
                                        "gtid transactional",
                                        "map plain",
                                        "write",
                                        "savepoint",
                                        "commit",
                                        "gtid transactional prepares 7/global/branch",
                                        "map plain",
                                        "write",
                                        "xa_end",
                                        "prepare 7/global/branch",
                                        "gtid standalone transactional completes 7/global/branch",
                                        "xa_commit 7/global/branch",
                                        "gtid transactional prepares 1/..'/",
                                        "map plain",
                                        "write",
                                        "xa_end",
                                        "prepare 1/..'/",
                                        "gtid standalone transactional completes 1/..'/",
                                        "xa_rollback 1/..'/",
                                        "gtid transactional",
                                        "map plain",
                                        "write",
                                        "commit",  // XA COMMIT ... ONE PHASE
                                        "gtid standalone ddl",
                                        "alter",
                                        "gtid transactional",
                                        "map plain",
                                        "write",
                                        "commit",
                                        "gtid standalone ddl",
                                        "rename",
                                        "gtid transactional",
                                        "map renamed",
                                        "write",
                                        "commit",
                                        "gtid standalone ddl",
                                        "truncate",
                                        "gtid standalone ddl",
                                        "truncate",
                                        "gtid ddl",
                                        "create",
                                        "map copied",
                                        "write",
                                        "commit",  // CREATE TABLE ... AS SELECT
                                        "gtid standalone ddl",
                                        "create",
                                        "gtid standalone ddl",
                                        "drop",
                                        "gtid standalone ddl",
                                        "create",  // INDEX
                                        "gtid standalone ddl",
                                        "administrative",  // VIEW
                                        "gtid standalone ddl",
                                        "administrative",  // TRIGGER
                                        "gtid transactional",
                                        "map renamed",
                                        "write",
                                        "commit",
                                        "gtid standalone ddl",
                                        "administrative",  // ANALYZE TABLE
                                        "gtid transactional",
                                        "dml",
                                        "commit",
                                        "gtid transactional",
                                        "dml",
                                        "commit",
                                        "gtid standalone ddl",
                                        "administrative",
                                        "gtid standalone ddl",
                                        "create",
                                        "gtid standalone ddl",
                                        "create",
                                        // What a table without transactions has taken stays, and
                                        // the rest is logged to be taken back.
                                        "gtid",
                                        "map myisam",
                                        "write",
                                        "commit",
                                        "gtid",
                                        "map mixed",
                                        "write",
                                        "savepoint",
                                        "map mixed",
                                        "write",
                                        "rollback_to_savepoint",
                                        "commit",
                                        "gtid",
                                        "map myisam",
                                        "write",
                                        "commit",
                                        "rotate 4"}));
}

INSTANTIATE_TEST_SUITE_P(Recorded,
                         MariaDbStatements,
                         ::testing::Values("mariadb_statements", "mariadb_11_statements"),
                         [](const auto& instance) { return instance.param; });

TEST(RecordedStatements, of_mysql_are_told_apart) {
  Lines lines = transcript(recorded_events("mysql_statements"));
  for (std::string& line : lines) {
    line = line.starts_with("gtid ") ? "gtid" : line;
  }
  EXPECT_THAT(lines,
              ::testing::ElementsAreArray(Lines{"format",         "previous",
                                                "gtid",           "create",
                                                "gtid",           "begin",
                                                "map plain",      "write",
                                                "savepoint",      "commit",
                                                "gtid",           "xa_begin",
                                                "map plain",      "write",
                                                "xa_end",         "prepare 7/global/branch",
                                                "gtid",           "xa_commit 7/global/branch",
                                                "gtid",           "xa_begin",
                                                "map plain",      "write",
                                                "xa_end",         "prepare 1/..'/",
                                                "gtid",           "xa_rollback 1/..'/",
                                                "gtid",           "xa_begin",
                                                "map plain",      "write",
                                                "xa_end",         "prepare 1/one phase/ one phase",
                                                "gtid",           "alter",
                                                "gtid",           "begin",
                                                "map plain",      "write",
                                                "commit",         "gtid",
                                                "rename",         "gtid",
                                                "begin",          "map renamed",
                                                "write",          "commit",
                                                "gtid",           "truncate",
                                                "gtid",           "truncate",
                                                "gtid",           "begin",
                                                "create",         "map copied",
                                                "write",          "commit",
                                                "gtid",           "create",
                                                "gtid",           "drop",
                                                "gtid",           "create",
                                                "gtid",           "administrative",
                                                "gtid",           "administrative",
                                                "gtid",           "begin",
                                                "map renamed",    "write",
                                                "commit",         "gtid",
                                                "administrative", "gtid",
                                                "begin",          "dml",
                                                "commit",         "gtid",
                                                "begin",          "dml",
                                                "commit",         "gtid",
                                                "administrative", "rotate 4"}));
}

TEST(RecordedStatements, name_mysql_transactions_with_and_without_a_tag) {
  Lines gtids;
  for (const std::string& line : transcript(recorded_events("mysql_gtids"))) {
    if (line.starts_with("gtid ")) {
      gtids.push_back(line.substr(5));
    }
  }
  ASSERT_EQ(gtids.size(), 7U);
  const std::string server = gtids[0].substr(0, 36);
  EXPECT_EQ(gtids[1], server + ":blue:1");
  EXPECT_EQ(gtids[2], server + ":blue:2");
  EXPECT_EQ(
      gtids[3],
      "3e11fa47-71ca-11e1-9e33-c80aa9429562:a_tag_that_has_all_of_32_letters:9223372036854775805");
  EXPECT_EQ(gtids[4], "00000000-0000-0000-0000-0000000000ff:127");
  EXPECT_EQ(gtids[5], "ffffffff-ffff-ffff-ffff-ffffffffffff:x:70000");
  EXPECT_TRUE(gtids[6].starts_with(server + ":1"));
}

TEST(RecordedStatements, say_that_a_json_value_was_updated_in_part) {
  EXPECT_THAT(transcript(recorded_events("mysql_gtids")), ::testing::Contains("update partial"));
}

// The set at the file's beginning and the transactions in it are what the server says it has
// executed.
TEST(RecordedStatements, add_up_to_what_mysql_has_executed) {
  EventDecoder decoder;
  MySqlGtidSet set;
  for (const std::string& bytes : recorded_events("mysql_unchecked")) {
    const auto event = decoder.decode(bytes);
    ASSERT_TRUE(event);
    if (const auto* previous = std::get_if<PreviousGtids>(&event->body)) {
      const auto decoded = MySqlGtidSet::decode(previous->set);
      ASSERT_TRUE(decoded);
      EXPECT_EQ(decoded->encode(), previous->set);
      set = *decoded;
    } else if (const auto* transaction = std::get_if<MySqlTransaction>(&event->body)) {
      EXPECT_FALSE(set.contains(transaction->gtid));
      EXPECT_TRUE(set.add(transaction->gtid));
    }
  }
  std::string executed = read_recorded("mysql_gtid_executed.txt");
  EXPECT_EQ(MySqlGtidSet::parse(executed), set);
  std::erase(executed, '\n');
  EXPECT_EQ(set.to_string(), executed);
}

TEST(RecordedStatements, add_up_to_where_mariadb_stands) {
  EventDecoder decoder;
  MariaDbPosition position;
  for (const std::string& bytes : recorded_events("mariadb_unchecked")) {
    const auto event = decoder.decode(bytes);
    ASSERT_TRUE(event);
    if (const auto* previous = std::get_if<PreviousGtids>(&event->body)) {
      const auto decoded = MariaDbPosition::decode(previous->set);
      ASSERT_TRUE(decoded);
      position = *decoded;
    } else if (const auto* transaction = std::get_if<MariaDbTransaction>(&event->body)) {
      EXPECT_FALSE(position.covers(transaction->gtid));
      EXPECT_TRUE(position.add(transaction->gtid));
    }
  }
  std::string stands = read_recorded("mariadb_gtid_binlog_pos.txt");
  std::erase(stands, '\n');
  EXPECT_EQ(position.to_string(), stands);
  EXPECT_EQ(stands.find("3-77-"), 0U);
  EXPECT_NE(stands.find(",5-78-"), std::string::npos);
}

// MariaDB's TIME(6) of before 10.1 has six bytes, and nothing in the log says so.
TEST(RecordedStatements, name_a_table_with_old_temporal_columns_as_one_that_cannot_be_read) {
  EventDecoder decoder;
  int maps = 0;
  for (const std::string& bytes : recorded_events("mariadb_old_temporal")) {
    const auto event = decoder.decode(bytes);
    ASSERT_TRUE(event);
    if (const auto* map = std::get_if<TableMap>(&event->body)) {
      ++maps;
      EXPECT_EQ(TableLayout::parse(*map, decoder.is_mariadb()).error(), DecodeError::old_temporal);
    }
  }
  EXPECT_GT(maps, 0);
}

}  // namespace
}  // namespace cuckooguard::binlog
