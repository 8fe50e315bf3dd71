// A set of tables on a log made by hand; what a loader does to it is done by the test.
#include "source/table_set.h"

#include <new>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "source/bench.h"
#include "source/made_log.h"

namespace cuckooguard::source {
namespace {

using filter::State;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Numbers = std::vector<std::uint32_t>;

constexpr seconds kMaxLag{1};

class TableSetTest : public testing::Test {
 protected:
  void begin(const std::string& position = "") {
    tables_.begin_at(at(position));
    tables_.reconnected(binlog::ChecksumAlgorithm::none);
    apply({binlog::make_format(binlog::Brand::mariadb)});
  }
  void apply(const std::vector<std::string>& events) {
    for (const std::string& event : events) {
      const auto applied = tables_.apply(event, never_);
      ASSERT_TRUE(applied) << applied.error();
    }
  }
  void insert(std::uint32_t id) {
    apply({log_.begin(), MadeLog::map(1, "user"), MadeLog::insert(1, id), MadeLog::commit()});
  }
  std::vector<std::string> erasing(std::uint32_t id) {
    return {log_.begin(), MadeLog::map(1, "user"), MadeLog::erase(1, id), MadeLog::commit()};
  }

  // --- a loader ---
  void open_view(TableSet::Index index) {
    tables_.collect(index, planned("user"));
    const std::vector<TableSet::Index> indexes{index};
    const auto collected_from = tables_.wait_until_collecting(indexes, never_);
    ASSERT_TRUE(collected_from);
    const ReadView view{.covered = *collected_from, .window_end = std::nullopt};
    ASSERT_TRUE(tables_.view_is(index, view, bench_.clock.now()));
    ASSERT_TRUE(tables_.wait_until_past(view, never_));
    tables_.settle(index);
  }
  std::expected<void, std::string> read(TableSet::Index index, const Numbers& rows) {
    FilterLoad load = tables_.load(index);
    EXPECT_EQ(load.begin(rows.size(), filter::DeleteMode::trusted), Intake::taken);
    for (const std::uint32_t id : rows) {
      const std::string text = std::to_string(id);
      EXPECT_EQ(load.add(std::vector<std::optional<std::string_view>>{text}), Intake::taken);
    }
    EXPECT_EQ(load.complete(), Intake::taken);
    return tables_.publish(index, std::move(load));
  }
  void load_all(const Numbers& rows) {
    for (const TableSet::Index index : tables_.take_due()) {
      open_view(index);
      ASSERT_TRUE(read(index, rows));
    }
  }

  void prove() { tables_.prove(bench_.clock.now(), tables_.position()); }
  static LogPosition at(const std::string& position) {
    return LogPosition::parse(position, true).value();
  }
  bool is_fresh(std::uint32_t ns = 0) { return bench_.is_fresh(ns); }

  std::stop_token never_;
  MadeLog log_;
  Bench bench_{{{.name = "users", .keys = {"user:{id:uint64}"}, .table = "user"},
                {.name = "again", .keys = {"again:{id:uint64}"}, .table = "user"}}};
  bool has_memory_ = true;
  TableSet tables_{bench_.feeds(kMaxLag),
                   [this] {
                     if (!has_memory_) {
                       throw std::bad_alloc();
                     }
                     return bench_.clock.now();
                   },
                   "shop"};
};

TEST_F(TableSetTest, reads_all_tables_once_it_has_begun_and_each_only_once) {
  begin();
  EXPECT_THAT(tables_.take_due(), ElementsAre(0, 1));
  EXPECT_THAT(tables_.take_due(), IsEmpty());
}

TEST_F(TableSetTest, a_table_is_fresh_when_it_is_loaded_and_proven_and_not_before) {
  begin();
  prove();
  EXPECT_FALSE(is_fresh());
  load_all({1, 2});
  EXPECT_FALSE(is_fresh());
  prove();
  EXPECT_TRUE(is_fresh());
  EXPECT_TRUE(bench_.has("user:2"));
  EXPECT_FALSE(bench_.has("user:3"));
  bench_.clock.advance(kMaxLag);
  EXPECT_FALSE(is_fresh());
}

TEST_F(TableSetTest, what_the_log_says_while_a_table_is_read_is_in_it_when_it_is_published) {
  begin();
  insert(7);  // the snapshot will have it
  const auto due = tables_.take_due();
  open_view(due[0]);
  insert(8);
  apply(erasing(1));
  ASSERT_TRUE(read(due[0], {1, 7}));
  insert(9);
  for (const char* const there : {"user:7", "user:8", "user:9"}) {
    EXPECT_TRUE(bench_.has(there)) << there;
  }
  EXPECT_FALSE(bench_.has("user:1"));
  EXPECT_EQ(bench_.lives[0].writable()->stats().items, 3U);
}

TEST_F(TableSetTest, a_position_is_proven_as_soon_as_it_is_applied) {
  begin();
  load_all({});
  const TimePoint asked = bench_.clock.now();
  tables_.prove(asked, at("0-77-1"));
  EXPECT_FALSE(is_fresh());
  bench_.clock.advance(milliseconds(400));
  insert(7);
  EXPECT_TRUE(is_fresh());
  EXPECT_EQ(bench_.lives[0].fresh_until(), asked + kMaxLag) << "no later than it was asked";
}

TEST_F(TableSetTest, what_a_server_said_before_the_connection_was_lost_proves_nothing) {
  begin();
  load_all({});
  tables_.prove(bench_.clock.now(), at("0-77-1"));
  tables_.reconnected(binlog::ChecksumAlgorithm::none);
  apply({binlog::make_format(binlog::Brand::mariadb)});
  insert(7);
  EXPECT_FALSE(is_fresh());
}

TEST_F(TableSetTest, a_table_that_is_out_of_step_passes_at_once_and_is_read_again) {
  begin();
  load_all({1});
  prove();
  ASSERT_TRUE(is_fresh());
  apply({log_.begin_definition(), MadeLog::query("ALTER TABLE user ADD COLUMN note TEXT")});
  EXPECT_FALSE(is_fresh());
  prove();
  EXPECT_FALSE(is_fresh());
  EXPECT_THAT(tables_.take_due(), IsEmpty()) << "not all guards of a database at once";
  bench_.clock.advance(TableSet::kRereadDelayMax);
  load_all({1});
  prove();
  EXPECT_TRUE(is_fresh());
}

TEST_F(TableSetTest, a_table_that_changes_its_definition_while_it_is_read_is_not_published) {
  begin();
  const auto due = tables_.take_due();
  open_view(due[0]);
  EXPECT_FALSE(tables_.is_outdated(due[0]));
  apply({log_.begin_definition(), MadeLog::query("TRUNCATE TABLE user")});
  EXPECT_TRUE(tables_.is_outdated(due[0]));
  EXPECT_FALSE(read(due[0], {1}));
  tables_.fail(due[0], "it has changed");
  prove();
  EXPECT_FALSE(is_fresh());
  bench_.clock.advance(TableSet::kRereadDelayMax);
  EXPECT_THAT(tables_.take_due(), ElementsAre(0));
}

TEST_F(TableSetTest, a_log_and_a_snapshot_that_do_not_go_together_are_not_published) {
  begin();
  const auto due = tables_.take_due();
  open_view(due[0]);
  apply(erasing(5));
  const auto published = read(due[0], {1});
  ASSERT_FALSE(published);
  EXPECT_THAT(published.error(), HasSubstr("that the snapshot does not have"));
}

TEST_F(TableSetTest, a_refused_table_passes_and_is_looked_at_again_later) {
  begin();
  load_all({1});
  prove();
  ASSERT_TRUE(is_fresh());
  tables_.refuse(0, "it has no key");
  EXPECT_FALSE(is_fresh());
  prove();
  EXPECT_FALSE(is_fresh());
  EXPECT_EQ(bench_.witness.last_of("users").state, State::unsynced);
  EXPECT_TRUE(is_fresh(1));
  EXPECT_THAT(tables_.take_due(), IsEmpty());
  bench_.clock.advance(TableSet::kRefusedPause);
  EXPECT_THAT(tables_.take_due(), ElementsAre(0));
}

TEST_F(TableSetTest, a_server_whose_position_goes_back_proves_nothing_until_all_is_read_anew) {
  begin();
  load_all({});
  insert(7);
  prove();
  ASSERT_TRUE(is_fresh());
  EXPECT_EQ(tables_.why_void(), "");
  tables_.prove(bench_.clock.now(), at(""));
  EXPECT_THAT(std::string(tables_.why_void()), HasSubstr("begun anew"));
  EXPECT_FALSE(is_fresh());
  prove();
  EXPECT_FALSE(is_fresh());
  EXPECT_FALSE(tables_.version(0));
  begin("0-77-1");
  EXPECT_EQ(tables_.why_void(), "");
  load_all({7});
  prove();
  EXPECT_TRUE(is_fresh());
}

// The row has gone from one filter, is missing in the other, and there is no memory to tell of it.
TEST_F(TableSetTest, a_transaction_that_was_applied_in_part_proves_and_keeps_nothing) {
  begin();
  const auto due = tables_.take_due();
  open_view(0);
  ASSERT_TRUE(read(0, {1}));
  open_view(1);
  ASSERT_TRUE(read(1, {}));
  prove();
  ASSERT_TRUE(is_fresh());
  ASSERT_TRUE(tables_.version(0));
  const std::vector<std::string> events = erasing(1);
  apply({events[0], events[1], events[2]});
  has_memory_ = false;
  EXPECT_THROW((void)tables_.apply(events[3], never_), std::bad_alloc);
  has_memory_ = true;
  EXPECT_FALSE(bench_.has("user:1"));
  EXPECT_EQ(tables_.position().text(), "");
  EXPECT_THAT(std::string(tables_.why_void()), HasSubstr("in part"));
  EXPECT_FALSE(is_fresh());
  prove();
  EXPECT_FALSE(is_fresh());
  EXPECT_FALSE(tables_.version(0)) << "would be kept with a position that it has passed";
}

class PatternedTableSetTest : public TableSetTest {
 protected:
  std::uint64_t doubt() { return patterned_.doubt().value_or(0); }
  void begin_patterned() {
    patterned_.begin_at(at(""));
    patterned_.reconnected(binlog::ChecksumAlgorithm::none);
    (void)patterned_.apply(binlog::make_format(binlog::Brand::mariadb), never_);
  }

  Bench wide_{{{.name = "users", .keys = {"user:{id:uint64}"}, .tables = {"user_*"}}}};
  TableSet patterned_{wide_.feeds(kMaxLag), wide_.clock.clock(), "shop"};
};

TEST_F(PatternedTableSetTest, is_in_doubt_of_its_tables_until_they_are_listed) {
  begin_patterned();
  EXPECT_TRUE(patterned_.is_listing_due());
  EXPECT_THAT(patterned_.take_due(), IsEmpty());
  ASSERT_TRUE(patterned_.set_tables(doubt(), {{"user_1", "user_2"}}));
  EXPECT_FALSE(patterned_.is_listing_due());
  EXPECT_FALSE(patterned_.doubt());
  EXPECT_THAT(patterned_.take_due(), ElementsAre(0, 1));
}

TEST_F(PatternedTableSetTest, an_answer_from_before_a_definition_does_not_end_the_doubt) {
  begin_patterned();
  const std::uint64_t before = doubt();
  ASSERT_TRUE(patterned_.apply(log_.begin_definition(), never_));
  ASSERT_TRUE(patterned_.apply(MadeLog::query("CREATE TABLE user_3 (id INT)"), never_));
  EXPECT_FALSE(patterned_.set_tables(before, {{"user_1"}}));
  EXPECT_TRUE(patterned_.is_listing_due());
}

TEST_F(PatternedTableSetTest, says_why_its_tables_cannot_be_listed_and_asks_again_after_a_pause) {
  begin_patterned();
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(patterned_.is_listing_due());
    patterned_.listing_failed("no grant");
    EXPECT_FALSE(patterned_.is_listing_due());
    EXPECT_EQ(wide_.witness.last().state, State::unsynced);
    EXPECT_THAT(wide_.witness.last().why, HasSubstr("no grant"));
    wide_.clock.advance(PatternedTables::kPauseMin);
    EXPECT_EQ(patterned_.is_listing_due(), i == 0) << "the pauses grow";
    wide_.clock.advance(PatternedTables::kPauseMax);
  }
  EXPECT_EQ(wide_.witness.reports().size(), 1U) << "once";
  ASSERT_TRUE(patterned_.set_tables(doubt(), {{"user_1"}}));
  EXPECT_EQ(wide_.witness.last().state, State::loading);
}

}  // namespace
}  // namespace cuckooguard::source
