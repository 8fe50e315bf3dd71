// One table of a stream: when its rows are known to be all, and what makes them unknown.
#include "stream/streamed_table.h"

#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "source/bench.h"

namespace cuckooguard::source::stream {
namespace {

using debezium::Op;
using debezium::Snapshot;
using debezium::Value;

class StreamedTableTest : public testing::Test {
 public:
  StreamedTableTest() {
    wanted.columns = {{.name = "id", .placeholders = {keyspace::ValueType::uint64}}};
    table.emplace(feeds.front(),
                  TablePlan{.identity = {0}},
                  wanted,
                  filter::KeyHash(bench.parts.front().secret()));
  }

  // Debezium wrote it so many milliseconds after 1970.
  void take(Op op, const std::string& id, Snapshot snapshot = Snapshot::no, int written = 1) {
    const std::string key = R"({"id":)" + id + "}";
    const std::string ms = std::to_string(written);
    const Value value{.state = Value::State::text, .text = id};
    EXPECT_TRUE(table->take({.op = op,
                             .after = {&value, op == Op::remove ? 0U : 1U},
                             .key_json = key,
                             .snapshot = snapshot,
                             .source_ms = ms,
                             .connector_ms = ms},
                            0));
  }
  void read(const std::string& id, Snapshot snapshot, int written = 1) {
    take(Op::read, id, snapshot, written);
  }
  void catch_up(int times = 2) {
    for (; times > 0; --times) {
      table->caught_up(false);
    }
  }
  bool has(int id) { return bench.has("user:" + std::to_string(id)); }
  void prove(int covered, std::uint64_t round = 100) {
    table->prove(bench.clock.now(), {.at = milliseconds(covered), .round = round});
  }

  Bench bench;
  Feeds feeds = bench.feeds();
  debezium::Table wanted;
  std::optional<StreamedTable> table;
};

TEST_F(StreamedTableTest, is_followed_when_all_has_been_read_behind_a_snapshots_end) {
  table->begin_anew(1, "");
  read("1", Snapshot::first);
  read("2", Snapshot::last);
  catch_up(1);
  EXPECT_FALSE(table->is_following()) << "what is in other channels may be in front of that";
  catch_up(1);
  EXPECT_TRUE(table->is_following());
  EXPECT_TRUE(has(1));
  EXPECT_FALSE(has(3));
}

TEST_F(StreamedTableTest, is_not_followed_while_changes_come_again) {
  table->begin_anew(1, "");
  read("1", Snapshot::first);
  read("2", Snapshot::last);
  table->caught_up(true);
  table->caught_up(true);
  table->caught_up(true);
  EXPECT_FALSE(table->is_following());
  catch_up(1);
  EXPECT_TRUE(table->is_following());
}

TEST_F(StreamedTableTest, lacks_rows_of_a_snapshot_whose_first_row_is_missing) {
  table->begin_anew(1, "");
  read("1", Snapshot::within);
  read("2", Snapshot::last);
  catch_up();
  EXPECT_FALSE(table->is_following());
}

TEST_F(StreamedTableTest, lacks_rows_if_more_were_read_of_it) {
  table->begin_anew(1, "");
  table->scan_ends("", 2);
  table->snapshot_ends("", 5);
  catch_up();
  EXPECT_FALSE(table->is_following()) << "they have yet to come";
  read("1", Snapshot::within);
  read("2", Snapshot::within);
  catch_up(1);
  EXPECT_TRUE(table->is_following());
}

TEST_F(StreamedTableTest, without_its_beginning_needs_a_snapshots_first_row) {
  table->begin_anew(1, "");
  table->snapshot_begins("");  // its first rows may have been removed
  table->lacks_beginning();
  read("1", Snapshot::within);
  read("2", Snapshot::last);
  catch_up();
  EXPECT_FALSE(table->is_following());
  read("1", Snapshot::first);
  read("2", Snapshot::last);
  catch_up();
  EXPECT_TRUE(table->is_following());
}

TEST_F(StreamedTableTest, is_known_by_notifications) {
  table->begin_anew(1, "");
  table->scan_ends("", 0);
  catch_up();
  EXPECT_FALSE(table->is_following());
  table->snapshot_ends("", 5);
  catch_up();
  EXPECT_TRUE(table->is_following());
  EXPECT_FALSE(has(1));
}

TEST_F(StreamedTableTest, that_another_snapshot_did_not_read_is_not_known_by_its_end) {
  table->doubt("");
  catch_up();
  table->snapshot_begins("");
  table->scan_ends("", 0);  // and it is broken off
  table->snapshot_begins("");
  table->snapshot_ends("", 5);
  catch_up();
  EXPECT_FALSE(table->is_following());
}

TEST_F(StreamedTableTest, of_a_snapshot_that_had_begun_before_a_doubt_lacks_rows) {
  table->begin_anew(1, "");
  table->doubt("");
  table->snapshot_begins("cuckooguard-1");  // not all had been read before it
  table->scan_ends("cuckooguard-1", 0);
  table->snapshot_ends("cuckooguard-1", 5);
  catch_up();
  EXPECT_FALSE(table->is_following());
  table->snapshot_begins("cuckooguard-2");
  table->scan_ends("cuckooguard-1", 0);
  table->snapshot_ends("cuckooguard-1", 5);
  catch_up();
  EXPECT_FALSE(table->is_following());
  table->scan_ends("cuckooguard-2", 0);
  table->snapshot_ends("cuckooguard-2", 5);
  catch_up();
  EXPECT_TRUE(table->is_following());
}

// Notifications may be read before the rows that they tell of, and after those of the next one.
TEST_F(StreamedTableTest, is_not_known_by_the_end_of_the_snapshot_before) {
  table->begin_anew(1, "");
  table->scan_ends("", 0);
  table->snapshot_ends("", 5);
  read("1", Snapshot::first, 9);
  catch_up();
  EXPECT_FALSE(table->is_following());
}

TEST_F(StreamedTableTest, is_known_by_the_end_of_its_snapshot_that_was_read_before_its_rows) {
  table->begin_anew(1, "");
  table->scan_ends("", 0);
  table->snapshot_ends("", 9);
  read("1", Snapshot::first, 5);
  catch_up();
  EXPECT_TRUE(table->is_following());
  EXPECT_TRUE(has(1));
}

TEST_F(StreamedTableTest, erases_a_row_when_a_later_commit_was_written_after_it) {
  table->begin_anew(1, "");
  read("1", Snapshot::first);
  read("2", Snapshot::last);
  catch_up();
  take(Op::remove, "1", Snapshot::no, 50);
  prove(50);
  EXPECT_TRUE(has(1)) << "another row of that commit may have this key";
  prove(51, 3);
  EXPECT_TRUE(has(1)) << "it may have been written before";
  prove(51, 4);
  EXPECT_FALSE(has(1));
}

TEST_F(StreamedTableTest, that_was_restored_is_proven_by_what_came_after_its_last_rows) {
  table->restore(1, {{7, 8}}, {}, milliseconds(50));
  prove(50);
  EXPECT_FALSE(bench.is_fresh());
  prove(51);
  EXPECT_TRUE(bench.is_fresh());
}

TEST_F(StreamedTableTest, that_was_restored_may_have_been_in_the_midst_of_a_snapshot) {
  table->restore(1, {{7, 8}}, {}, {});
  read("2", Snapshot::last);
  EXPECT_TRUE(table->is_following()) << "it need not be the snapshot's only row";
  EXPECT_TRUE(has(2));
}

TEST_F(StreamedTableTest, tells_the_first_reason_of_a_doubt) {
  table->begin_anew(1, "");
  table->doubt("one");
  table->doubt("two");
  EXPECT_TRUE(bench.witness.last().why.starts_with("one;"));
  read("1", Snapshot::first);
  table->doubt("three");
  EXPECT_TRUE(bench.witness.last().why.starts_with("three;"));
}

TEST_F(StreamedTableTest, of_several_partitions_is_in_doubt_after_truncate) {
  table->begin_anew(2, "");
  const std::string key;
  EXPECT_FALSE(table->take({.op = Op::truncate, .key_json = key}, 0));
}

TEST_F(StreamedTableTest, needs_keys) {
  table->begin_anew(1, "");
  const Value value{.state = Value::State::text, .text = "1"};
  const auto taken = table->take({.op = Op::create, .after = {&value, 1}}, 0);
  ASSERT_FALSE(taken);
  EXPECT_TRUE(taken.error().contains("message.key.columns"));
}

}  // namespace
}  // namespace cuckooguard::source::stream
