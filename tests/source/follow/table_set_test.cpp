// Which tables are read, when they are in step, and what their states say.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "source/follow/table_set_fixture.h"

namespace cuckooguard::source::mysql {
namespace {

using filter::State;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(TableSetTest, reads_all_tables_once_it_has_begun_and_each_only_once) {
  begin();
  EXPECT_THAT(tables_.loads.take_due(), ElementsAre(0, 1));
  EXPECT_THAT(tables_.loads.take_due(), IsEmpty());
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
  const auto due = tables_.loads.take_due();
  open_view(due[0]);
  insert(8);
  apply(erasing(1));
  ASSERT_TRUE(read(due[0], {1, 7}));
  insert(9);
  EXPECT_TRUE(bench_.has("user:1")) << "until the server has committed it";
  commit();
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
  tables_.log.prove(asked, at("0-77-1"));
  EXPECT_FALSE(is_fresh());
  bench_.clock.advance(milliseconds(400));
  insert(7);
  EXPECT_TRUE(is_fresh());
  EXPECT_EQ(bench_.lives[0].fresh_until(), asked + kMaxLag) << "no later than it was asked";
}

TEST_F(TableSetTest, what_a_server_said_before_the_connection_was_lost_proves_nothing) {
  begin();
  load_all({});
  tables_.log.prove(bench_.clock.now(), at("0-77-1"));
  tables_.log.reconnected({}, "db1");
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
  EXPECT_THAT(tables_.loads.take_due(), IsEmpty()) << "not all guards of a database at once";
  bench_.clock.advance(TableSetTimes::kRereadDelayMax);
  load_all({1});
  prove();
  EXPECT_TRUE(is_fresh());
}

// Each time for a reason that the next read does not take away.
TEST_F(TableSetTest, a_table_that_is_read_again_and_again_waits_ever_longer_and_says_why) {
  begin();
  load_all({1});
  const auto disagree = [this] {
    apply({log_.begin(),
           MadeLog::map_of(1, "user", "\x08"),
           MadeLog::insert(1, 2),
           MadeLog::commit()});
  };
  std::vector<seconds> pauses;
  for (int i = 0; i < 20; ++i) {
    prove();
    EXPECT_TRUE(is_fresh());
    disagree();
    EXPECT_FALSE(is_fresh());
    const std::string why = bench_.witness.last_of("users").why;
    EXPECT_THAT(why, HasSubstr("column `id` is int(11) in the schema and BIGINT in the log"));
    pauses.push_back(pause());
    EXPECT_FALSE(is_fresh());
    const bool is_seldom = pauses.back() > seconds(0);
    EXPECT_EQ(why.find("this happens too often") != std::string::npos, is_seldom) << why;
    for (const TableIndex index : due_) {
      open_view(index);
      ASSERT_TRUE(read(index, {1}));
    }
    bench_.clock.advance(TableSetTimes::kRereadDelayMax);
    load_all({1});  // the other namespace
  }
  EXPECT_EQ(std::ranges::count(pauses, seconds(0)), RereadPace::kFreely);
  EXPECT_TRUE(std::ranges::is_sorted(pauses));
  EXPECT_EQ(pauses[RereadPace::kFreely], RereadPace::kPauseMin);
  EXPECT_EQ(pauses.back(), RereadPace::kPauseMax);
  bench_.clock.advance(RereadPace::kEach * 9);
  disagree();
  EXPECT_EQ(pause(), seconds(0)) << "it was in step for a while";
}

TEST_F(TableSetTest, a_load_that_fails_again_and_again_waits_ever_longer_unless_somebody_asks) {
  begin();
  ASSERT_THAT(tables_.loads.take_due(), ElementsAre(0, 1));
  std::vector<seconds> pauses;
  for (int i = 0; i < 15; ++i) {
    tables_.loads.fail(0, "it was changed while it was read");
    pauses.push_back(pause());
  }
  EXPECT_EQ(std::ranges::count(pauses, seconds(0)), RereadPace::kFreely);
  EXPECT_EQ(pauses.back(), seconds(16));
  EXPECT_EQ(bench_.witness.troubles().size(), 5U);
  tables_.loads.fail(0, "it was changed while it was read");
  EXPECT_EQ(bench_.witness.troubles().back(),
            "db: users: it was changed while it was read; this happens too often: reading the "
            "table again in 32 s");
  EXPECT_EQ(
      bench_.witness.last_of("users").why,
      "it was changed while it was read; this happens too often: reading the table again in 32 s");
  tables_.loads.tend();
  EXPECT_THAT(tables_.loads.take_due(), IsEmpty());
  bench_.lives[0].ask_for_rebuild();
  tables_.loads.tend();
  EXPECT_THAT(tables_.loads.take_due(), ElementsAre(0));
}

TEST_F(TableSetTest, a_load_that_the_log_has_made_useless_says_what_the_log_said) {
  begin();
  const auto due = tables_.loads.take_due();
  open_view(due[0]);
  apply({log_.begin_definition(), MadeLog::query("ALTER TABLE user ADD COLUMN note TEXT")});
  tables_.loads.fail(due[0], "table `user` changed while it was being read");
  EXPECT_THAT(bench_.witness.last_of("users").why, HasSubstr("ALTER TABLE user ADD COLUMN"));
}

TEST_F(TableSetTest, a_table_that_changes_its_definition_while_it_is_read_is_not_published) {
  begin();
  const auto due = tables_.loads.take_due();
  open_view(due[0]);
  EXPECT_FALSE(tables_.loads.is_outdated(due[0]));
  apply({log_.begin_definition(), MadeLog::query("TRUNCATE TABLE user")});
  EXPECT_TRUE(tables_.loads.is_outdated(due[0]));
  EXPECT_FALSE(read(due[0], {1}));
  tables_.loads.fail(due[0], "it has changed");
  prove();
  EXPECT_FALSE(is_fresh());
  bench_.clock.advance(TableSetTimes::kRereadDelayMax);
  EXPECT_THAT(tables_.loads.take_due(), ElementsAre(0));
}

TEST_F(TableSetTest, a_refused_table_passes_and_is_looked_at_again_later) {
  begin();
  load_all({1});
  prove();
  ASSERT_TRUE(is_fresh());
  tables_.loads.refuse(0, State::refused, "it has no key");
  EXPECT_FALSE(is_fresh());
  prove();
  EXPECT_FALSE(is_fresh());
  EXPECT_EQ(bench_.witness.last_of("users").state, State::refused);
  EXPECT_TRUE(is_fresh(1));
  EXPECT_THAT(tables_.loads.take_due(), IsEmpty());
  bench_.clock.advance(TableSetTimes::kRefusedPause);
  EXPECT_THAT(tables_.loads.take_due(), ElementsAre(0));
}

TEST_F(TableSetTest, a_server_whose_position_goes_back_proves_nothing_until_all_is_read_anew) {
  begin();
  load_all({});
  insert(7);
  prove();
  ASSERT_TRUE(is_fresh());
  EXPECT_EQ(tables_.log.why_void(), "");
  tables_.log.prove(bench_.clock.now(), at(""));
  EXPECT_THAT(std::string(tables_.log.why_void()), HasSubstr("reset or truncated"));
  EXPECT_FALSE(is_fresh());
  prove();
  EXPECT_FALSE(is_fresh());
  EXPECT_FALSE(tables_.checkpoints.version(0));
  begin("0-77-1");
  EXPECT_EQ(tables_.log.why_void(), "");
  load_all({7});
  prove();
  EXPECT_TRUE(is_fresh());
}

// A server that keeps no log for a while passes no positions meanwhile: later it is where it was.
TEST_F(TableSetTest, a_source_that_was_refused_proves_and_keeps_nothing_until_all_is_read_anew) {
  begin();
  load_all({1});
  prove();
  ASSERT_TRUE(is_fresh());
  tables_.log.forget_position();
  EXPECT_FALSE(is_fresh());
  EXPECT_FALSE(tables_.checkpoints.version(0)) << "would be kept";
  tables_.log.report_refused("it keeps no log");
  EXPECT_EQ(bench_.witness.last_of("users").state, State::refused);
  EXPECT_EQ(bench_.witness.last_of("users").why, "it keeps no log");
  tables_.log.reconnected({}, "db1");
  prove();
  EXPECT_FALSE(is_fresh());
  begin();
  EXPECT_EQ(bench_.witness.last_of("users").state, State::loading);
  prove();
  EXPECT_FALSE(is_fresh()) << "by the filter of before";
  load_all({1, 7});
  EXPECT_FALSE(is_fresh());
  prove();
  EXPECT_TRUE(is_fresh());
  EXPECT_TRUE(bench_.has("user:7"));
}

TEST_F(TableSetTest, a_refused_source_that_cannot_be_reached_any_more_is_down) {
  begin();
  load_all({1});
  prove();
  tables_.log.forget_position();
  tables_.log.report_refused("a wrong password");
  EXPECT_EQ(tables_.status().read().state, filter::SourceState::refused);
  tables_.log.report_lost("nobody is there");
  EXPECT_EQ(tables_.status().read().state, filter::SourceState::down);
  EXPECT_EQ(bench_.witness.last_of("users").state, State::down);
  tables_.log.reconnected({}, "db1");
  prove();
  EXPECT_FALSE(is_fresh()) << "it was refused all the same";
}

TEST_F(TableSetTest, a_load_that_is_refused_leaves_a_table_in_step_as_it_is_and_says_so_of_others) {
  begin();
  for (const TableIndex index : tables_.loads.take_due()) {
    tables_.loads.fail(index, "no right to read it", State::refused);
  }
  EXPECT_EQ(bench_.witness.last_of("users").state, State::refused);
  EXPECT_EQ(bench_.witness.last_of("users").why, "no right to read it");
  EXPECT_THAT(tables_.loads.take_due(), IsEmpty());
  bench_.clock.advance(TableSetTimes::kRefusedPause);
  load_all({1});
  prove();
  ASSERT_TRUE(is_fresh());
  bench_.lives[0].ask_for_rebuild();
  tables_.loads.tend();
  ASSERT_THAT(tables_.loads.take_due(), ElementsAre(0));
  tables_.loads.fail(0, "a wrong password", State::refused);
  EXPECT_EQ(bench_.witness.last_of("users").state, State::ready);
  EXPECT_TRUE(is_fresh());
}

class PatternedTableSetTest : public TableSetTest {
 protected:
  std::uint64_t doubt() const { return patterned_.listing.doubt().value_or(0); }
  void begin_patterned() {
    patterned_.log.begin_at(at(""));
    patterned_.log.reconnected({}, "db1");
    (void)patterned_.log.apply(binlog::make_format(binlog::Brand::mariadb), never_);
  }

  Bench wide_{{{.name = "users", .keys = {"user:{id:uint64}"}, .tables = {"user_*"}}}};
  TableSet<Log> patterned_{wide_.feeds(kMaxLag), wide_.clock.clock(), "shop"};
};

TEST_F(PatternedTableSetTest, is_in_doubt_of_its_tables_until_they_are_listed) {
  begin_patterned();
  EXPECT_TRUE(patterned_.listing.is_due());
  EXPECT_THAT(patterned_.loads.take_due(), IsEmpty());
  ASSERT_TRUE(patterned_.listing.set(doubt(), {{"user_1", "user_2"}}));
  EXPECT_FALSE(patterned_.listing.is_due());
  EXPECT_FALSE(patterned_.listing.doubt());
  EXPECT_THAT(patterned_.loads.take_due(), ElementsAre(0, 1));
}

TEST_F(PatternedTableSetTest, says_which_of_its_tables_a_list_lacks) {
  begin_patterned();
  EXPECT_THAT(patterned_.listing.missing_from({{"user_1"}}), IsEmpty());
  ASSERT_TRUE(patterned_.listing.set(doubt(), {{"user_1", "user_2"}}));
  EXPECT_THAT(patterned_.listing.missing_from({{"user_2", "user_3"}}), ElementsAre("user_1"));
  EXPECT_THAT(patterned_.listing.missing_from({{"user_1", "user_2"}}), IsEmpty());
}

// Also of one that nobody could read, of which no log speaks.
TEST_F(PatternedTableSetTest, is_in_doubt_when_one_of_its_tables_is_seen_to_have_gone) {
  begin_patterned();
  ASSERT_TRUE(patterned_.listing.set(doubt(), {{"user_1", "user_2"}}));
  patterned_.listing.see_all([](const std::string& table) { return !table.empty(); });
  EXPECT_FALSE(patterned_.listing.doubt());
  patterned_.listing.see_all([](const std::string& table) { return table != "user_2"; });
  EXPECT_TRUE(patterned_.listing.is_due());
}

TEST_F(PatternedTableSetTest, an_answer_from_before_a_definition_does_not_end_the_doubt) {
  begin_patterned();
  const std::uint64_t before = doubt();
  ASSERT_TRUE(patterned_.log.apply(log_.begin_definition(), never_));
  ASSERT_TRUE(patterned_.log.apply(MadeLog::query("CREATE TABLE user_3 (id INT)"), never_));
  EXPECT_FALSE(patterned_.listing.set(before, {{"user_1"}}));
  EXPECT_TRUE(patterned_.listing.is_due());
}

TEST_F(PatternedTableSetTest, says_why_its_tables_cannot_be_listed_and_asks_again_after_a_pause) {
  begin_patterned();
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(patterned_.listing.is_due());
    patterned_.listing.fail("no grant", true);
    EXPECT_FALSE(patterned_.listing.is_due());
    EXPECT_EQ(wide_.witness.last().state, State::refused);
    EXPECT_THAT(wide_.witness.last().why, HasSubstr("no grant"));
    wide_.clock.advance(PatternedTables::kPauseMin);
    EXPECT_EQ(patterned_.listing.is_due(), i == 0) << "the pauses grow";
    wide_.clock.advance(PatternedTables::kPauseMax);
  }
  EXPECT_EQ(wide_.witness.reports().size(), 1U) << "once";
  ASSERT_TRUE(patterned_.listing.set(doubt(), {{"user_1"}}));
  EXPECT_EQ(wide_.witness.last().state, State::loading);
}

// It has no table that could say it.
TEST_F(PatternedTableSetTest, says_that_its_source_is_refused_or_cannot_be_reached) {
  patterned_.log.report_lost("nobody is there");
  EXPECT_EQ(wide_.witness.last().state, State::down);
  patterned_.log.forget_position();
  patterned_.log.report_refused("a wrong password");
  EXPECT_EQ(wide_.witness.last().state, State::refused);
  EXPECT_EQ(wide_.witness.last().why, "a wrong password");
  begin_patterned();
  EXPECT_EQ(wide_.witness.last().state, State::loading);
  ASSERT_TRUE(patterned_.listing.set(doubt(), {{"user_1"}}));
  patterned_.log.forget_position();
  EXPECT_TRUE(patterned_.listing.doubt()) << "tables may have come that no log tells of";
}

}  // namespace
}  // namespace cuckooguard::source::mysql
