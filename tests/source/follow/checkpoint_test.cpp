#include "follow/checkpoint.h"

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "harness/temporary_directory.h"
#include "mysql/log.h"
#include "source/bench.h"
#include "source/mysql/made_log.h"

namespace cuckooguard::source::mysql {
namespace {

// A filter is of no use to another table, or to other rows of it.
TEST(DefinitionHash, is_another_one_if_anything_is_that_decides_which_rows_are_in_a_filter) {
  Bench bench;
  const Target target = bench.targets().front();
  const TablePlan plan = planned("user");
  const std::uint64_t before = Log::definition_hash(target, plan);
  EXPECT_EQ(Log::definition_hash(target, planned("user")), before);
  const std::vector<std::function<void(TablePlan&)>> changes{
      [](TablePlan& table) { table.schema = "shop2"; },
      [](TablePlan& table) { table.name = "users"; },
      [](TablePlan& table) { table.columns.front().name = "nr"; },
      [](TablePlan& table) { table.columns.front().column_type = "bigint(20)"; },
      [](TablePlan& table) { table.columns.front().collation = "utf8mb4_bin"; },
      [](TablePlan& table) { table.columns.push_back(table.columns.front()); },
      [](TablePlan& table) { table.identity.push_back(0); },
      [](TablePlan& table) {
        table.condition = keyspace::RowCondition::parse("deleted = 0").value();
      },
      [](TablePlan& table) { table.identity_is_unique = !table.identity_is_unique; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    TablePlan other = plan;
    changes[i](other);
    EXPECT_NE(Log::definition_hash(target, other), before) << "change " << i;
  }
  Bench other_keys({Wanted{.keys = {"u:{id:uint64}"}}});
  EXPECT_NE(Log::definition_hash(other_keys.targets().front(), plan), before);
  Bench other_filter({Wanted{.filter = {.capacity = 7}}});
  EXPECT_NE(Log::definition_hash(other_filter.targets().front(), plan), before);
}

TEST(Checkpoint, comes_back_with_all_that_it_was_labelled_with) {
  const harness::TemporaryDirectory directory;
  const std::string path = directory.file("user.filter");
  Bench bench;
  Feeds feeds = bench.feeds();
  Feed& feed = feeds.front();
  ASSERT_EQ(feed.begin(1), Intake::taken);
  ASSERT_EQ(feed.complete(), Intake::taken);
  const auto position = LogPosition::parse("0-77-10", true).value();
  LogGroup group{.gtid = parse_gtid("0-77-10", true).value(), .previous = {}, .file = "binlog.1"};
  for (const bool grows : {false, true}) {
    const auto label = checkpoint_label({.resume = Log::resume_text(position, group),
                                         .largest_id = 4711,
                                         .ids_grow = grows,
                                         .server = "db1"},
                                        5);
    auto written = filter::WrittenFilterFile::write(path, *bench.lives[0].writable(), label);
    ASSERT_TRUE(written);
    ASSERT_TRUE(written->put_in_place());
    const auto read = read_checkpoint<Log>(path, bench.parts[0].secret(), 5);
    ASSERT_TRUE(read) << read.error();
    ASSERT_TRUE(*read);
    EXPECT_EQ((*read)->position, position);
    EXPECT_TRUE((*read)->last_group.is_same_as(group));
    EXPECT_EQ((*read)->loaded.largest_id, 4711U);
    EXPECT_EQ((*read)->loaded.ids_grow, grows);
    EXPECT_EQ((*read)->server, "db1");
    EXPECT_FALSE(read_checkpoint<Log>(path, bench.parts[0].secret(), 6)) << "another definition";
  }
}

}  // namespace
}  // namespace cuckooguard::source::mysql
