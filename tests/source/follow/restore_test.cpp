// Which positions a server goes on with; what is then done with them is asked of a real one
// (integration/checkpoint_test.cpp).
#include "follow/restore.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mysql/log_applier.h"

namespace cuckooguard::source::mysql {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

LogPosition at(std::string_view text) {
  return LogPosition::parse(text, true).value();
}

struct Case {
  std::string_view server;
  bool is_cluster;
  std::string_view logged;
  bool goes_on;
};

TEST(GoesOn, the_same_server_or_one_of_the_cluster_that_has_all_of_it) {
  for (const Case& each : {Case{"db1", false, "0-1-75", true},
                           Case{"db1", false, "0-1-80,2-1-1", true},
                           Case{"db1", false, "0-1-74", false},
                           Case{"db1", false, "", false},
                           Case{"db2", false, "0-1-75", false},
                           Case{"db2", true, "0-1-75", true},
                           Case{"db2", true, "0-1-74", false},
                           Case{"db1", true, "0-1-74", false}}) {
    const LogPosition logged = at(each.logged);
    const Successor<Log> server{
        .identity = each.server, .is_cluster = each.is_cluster, .position = logged};
    EXPECT_EQ(server.goes_on("db1", at("0-1-75")), each.goes_on)
        << each.server << " " << each.is_cluster << " " << each.logged;
  }
}

TEST(GoesOn, what_is_older_than_the_beginning_of_a_log_does_not) {
  const LogPosition logged = at("0-1-75");
  const Successor<Log> server{
      .identity = "db1", .is_cluster = false, .position = logged, .begins = at("0-1-60")};
  EXPECT_FALSE(server.goes_on("db1", at("0-1-59")));
  EXPECT_TRUE(server.goes_on("db1", at("0-1-60")));
}

class LeaveResumableTest : public testing::Test {
 protected:
  void file(std::string_view position,
            std::string server = "db1",
            std::string_view last = "0-1-1 - 1 1 1 1 500 binlog.000001") {
    candidates_.push_back({.index = candidates_.size(),
                           .plan = {},
                           .checkpoint = {.loaded = {},
                                          .position = at(position),
                                          .last_group = LogGroup::parse(last, true).value(),
                                          .server = std::move(server)}});
  }
  std::string oldest(bool is_cluster = false) {
    const LogPosition logged = at("0-1-75,2-1-9");
    const auto found = leave_resumable<Log>(
        candidates_, {.identity = "db1", .is_cluster = is_cluster, .position = logged});
    return found ? found->text() : "none";
  }
  std::vector<TableIndex> left() const {
    std::vector<TableIndex> indexes;
    indexes.reserve(candidates_.size());
    for (const Candidate<Log>& each : candidates_) {
      indexes.push_back(each.index);
    }
    return indexes;
  }

  std::vector<Candidate<Log>> candidates_;
};

TEST_F(LeaveResumableTest, begins_with_the_oldest_position) {
  file("0-1-75");
  file("0-1-60");
  file("0-1-70,2-1-9");
  EXPECT_EQ(oldest(), "0-1-60");
  EXPECT_THAT(left(), ElementsAre(0, 1, 2));
}

TEST_F(LeaveResumableTest, leaves_out_files_of_other_servers_unless_they_are_of_the_cluster) {
  file("0-1-60", "db2");
  file("0-1-75");
  EXPECT_EQ(oldest(), "0-1-75");
  EXPECT_THAT(left(), ElementsAre(1));
  file("0-1-60", "db2");
  EXPECT_EQ(oldest(true), "0-1-60");
}

TEST_F(LeaveResumableTest, leaves_out_what_the_server_has_never_had) {
  file("0-1-76");
  EXPECT_EQ(oldest(), "none");
  EXPECT_THAT(left(), IsEmpty());
}

TEST_F(LeaveResumableTest, leaves_out_what_lies_on_another_line) {
  file("2-1-5");
  file("0-1-60");
  EXPECT_EQ(oldest(), "2-1-5");
  EXPECT_THAT(left(), ElementsAre(0));
}

// The log shows the first one's group, and none that comes before it.
TEST_F(LeaveResumableTest, leaves_out_files_whose_group_of_the_same_number_is_another_one) {
  file("0-1-60", "db1", "0-1-60 - 1 1 1 1 500 binlog.000001");
  file("0-1-60", "db1", "0-1-60 - 1 1 1 1 500 binlog.000001");
  file("0-1-60", "db1", "0-1-60 - 1 2 1 1 500 binlog.000001");
  file("0-1-70", "db1", "0-1-70 - 1 3 1 1 700 binlog.000001");
  EXPECT_EQ(oldest(), "0-1-60");
  EXPECT_THAT(left(), ElementsAre(0, 1, 3));
}

}  // namespace
}  // namespace cuckooguard::source::mysql
