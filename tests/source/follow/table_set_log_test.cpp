// What a set believes of its log: whether it is still the same, what is committed of it, what is
// kept.
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/temporary_directory.h"
#include "source/follow/table_set_fixture.h"

namespace cuckooguard::source::mysql {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(TableSetTest, a_log_and_a_snapshot_that_do_not_go_together_put_a_table_out_of_step) {
  begin();
  const auto due = tables_.loads.take_due();
  open_view(due[0]);
  apply(erasing(5));
  ASSERT_TRUE(read(due[0], {1}));
  prove();
  ASSERT_TRUE(is_fresh());
  commit();
  EXPECT_FALSE(is_fresh());
  EXPECT_THAT(bench_.witness.last_of("users").why, HasSubstr("does not contain"));
  prove();
  EXPECT_FALSE(is_fresh());
  bench_.clock.advance(TableSetTimes::kRereadDelayMax);
  EXPECT_THAT(tables_.loads.take_due(), ElementsAre(0));
}

TEST_F(TableSetTest, readers_are_told_of_a_proof_when_they_can_see_it) {
  begin();
  load_all({1});
  insert(2);
  const LogPosition ahead = at("0-77-2");
  tables_.log.prove(bench_.clock.now(), ahead);
  EXPECT_EQ(proofs_told_, 0);
  insert(3);  // and with it the log has come so far
  EXPECT_EQ(proofs_told_, 1);
  EXPECT_TRUE(was_fresh_when_told_);
}

// MariaDB, when it has begun a file of its log and committed nothing in it.
class ViewGoodForNow : public TableSetTest {
 protected:
  void SetUp() override {
    begin();
    due_ = tables_.loads.take_due();
    open_view(due_[0], {.good_until = word(7)});
  }
  static Committed word(std::uint64_t group_commits) {
    return {.place = {.file = "binlog.2", .position = 300}, .group_commits = group_commits};
  }
};

TEST_F(ViewGoodForNow, a_table_is_proven_as_of_the_last_word_that_nothing_was_committed) {
  ASSERT_TRUE(read(due_[0], {1}));
  const TimePoint asked = bench_.clock.now();
  tables_.log.see_committed(word(7), asked);
  bench_.clock.advance(kMaxLag - milliseconds(1));
  prove();
  EXPECT_TRUE(is_fresh());
  bench_.clock.advance(milliseconds(1));
  prove();
  EXPECT_FALSE(is_fresh()) << "its snapshot may lack rows that were committed since";
  tables_.log.see_committed(word(7), bench_.clock.now());
  prove();
  EXPECT_TRUE(is_fresh());
}

TEST_F(ViewGoodForNow, a_table_is_read_again_when_something_was_committed) {
  ASSERT_TRUE(read(due_[0], {1}));
  tables_.log.see_committed(word(7), bench_.clock.now());
  prove();
  ASSERT_TRUE(is_fresh());
  tables_.log.see_committed(word(8), bench_.clock.now());
  prove();
  EXPECT_FALSE(is_fresh());
  EXPECT_THAT(bench_.witness.last_of("users").why, HasSubstr("may lack rows"));
}

TEST_F(ViewGoodForNow, a_table_is_not_published_if_something_was_committed_while_it_was_read) {
  tables_.log.see_committed(word(8), bench_.clock.now());
  EXPECT_FALSE(read(due_[0], {1}));
}

TEST_F(ViewGoodForNow, a_table_is_not_kept) {
  ASSERT_TRUE(read(due_[0], {1}));
  insert(2);
  EXPECT_FALSE(tables_.checkpoints.version(due_[0]));
  ASSERT_NO_FATAL_FAILURE(open_view(due_[1]));
  ASSERT_TRUE(read(due_[1], {1, 2}));
  EXPECT_TRUE(tables_.checkpoints.version(due_[1])) << "read in a view of another kind";
}

// Its verdict was logged before the log was read, and its rows came to be seen behind the view.
TEST_F(TableSetTest, a_table_is_read_again_when_a_transaction_ends_of_which_the_log_says_nothing) {
  const binlog::Xid xid = binlog::Xid::make(1, "x", "").value();
  begin();
  due_ = tables_.loads.take_due();
  open_view(due_[0], {.unknown_xids = {xid}});
  ASSERT_TRUE(read(due_[0], {1}));
  tables_.log.see_committed({.listed = {xid}}, bench_.clock.now());
  prove();
  EXPECT_TRUE(is_fresh());
  tables_.log.see_committed({}, bench_.clock.now());
  EXPECT_FALSE(is_fresh());
}

// By a transaction, by word that others were skipped, by a new file.
TEST_F(TableSetTest, a_place_is_proven_when_the_stream_comes_there_whatever_leads_there) {
  const auto rotate = [this](const std::string& file) {
    apply(
        {binlog::make_event(binlog::EventType::rotate, binlog::little_endian(4, 8) + file, 0x20)});
  };
  const auto said = [this](const std::string& file, std::uint64_t position) {
    tables_.log.prove(
        bench_.clock.now(), tables_.log.position(), {.file = file, .position = position});
  };
  begin();
  load_all({1});
  rotate("binlog.000001");
  said("binlog.000001", 500);
  apply({log_.begin(), MadeLog::map(1, "user"), MadeLog::insert(1, 2)});
  EXPECT_EQ(proofs_told_, 0);
  apply({MadeLog::commit_at(500)});
  EXPECT_EQ(proofs_told_, 1);
  said("binlog.000001", 600);
  EXPECT_EQ(proofs_told_, 1);
  apply({binlog::make_event(binlog::EventType::heartbeat, "binlog.000001", 0, 600)});
  EXPECT_EQ(proofs_told_, 2);
  said("binlog.000002", 4);
  EXPECT_EQ(proofs_told_, 2);
  rotate("binlog.000002");
  EXPECT_EQ(proofs_told_, 3);
}

// A log that is late by more than max_lag: its proofs are of no use, but they do not stop.
TEST_F(TableSetTest, a_proof_that_comes_too_late_does_not_make_a_namespace_ready) {
  begin();
  load_all({1});
  const TimePoint asked = bench_.clock.now();
  bench_.clock.advance(2 * kMaxLag);
  tables_.log.prove(asked, tables_.log.position());
  EXPECT_EQ(proofs_told_, 1);
  EXPECT_NE(bench_.lives[0].state(), filter::State::ready);
  prove();
  EXPECT_EQ(bench_.lives[0].state(), filter::State::ready);
}

TEST_F(TableSetTest, a_row_passes_until_the_server_has_committed_that_it_is_gone) {
  begin();
  load_all({1});
  commit();
  prove();
  ASSERT_TRUE(is_fresh());
  apply({log_.begin(), MadeLog::map(1, "user"), MadeLog::erase(1, 1), MadeLog::commit_at(500)});
  EXPECT_TRUE(bench_.has("user:1"));
  tables_.log.see_committed(committed(499));
  EXPECT_TRUE(bench_.has("user:1"));
  tables_.log.see_committed(committed(500));
  EXPECT_FALSE(bench_.has("user:1"));
}

StorageDirectory kept_in(const harness::TemporaryDirectory& directory) {
  return StorageDirectory::open(directory.file("kept")).value();
}

TimePoint soon() {
  return std::chrono::steady_clock::now() + seconds(2);
}

// It would not know that the row is to go.
TEST_F(TableSetTest, no_file_is_written_while_rows_wait_to_be_erased) {
  const harness::TemporaryDirectory directory;
  const StorageDirectory storage = kept_in(directory);
  begin();
  load_all({1});
  apply(erasing(1));
  EXPECT_FALSE(tables_.checkpoints.write(0, storage, "shop", "db1", {}))
      << "no server says anything";
  commit();
  EXPECT_TRUE(tables_.checkpoints.write(0, storage, "shop", "db1", soon()));
}

TEST_F(TableSetTest, a_file_that_is_written_waits_until_rows_are_erased) {
  const harness::TemporaryDirectory directory;
  const StorageDirectory storage = kept_in(directory);
  begin();
  load_all({1});
  tables_.log.see_committed(committed(1));
  apply({log_.begin(), MadeLog::map(1, "user"), MadeLog::erase(1, 1), MadeLog::commit_at(500)});
  std::jthread server([this](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      tables_.log.see_committed(committed(500));
    }
  });
  EXPECT_TRUE(tables_.checkpoints.write(0, storage, "shop", "db1", soon()));
}

// Without it the next rows would not pass while the log has not told of them yet.
TEST_F(TableSetTest, a_restart_keeps_the_largest_id_and_the_position_that_a_file_was_written_at) {
  const harness::TemporaryDirectory directory;
  const StorageDirectory storage = kept_in(directory);
  begin();
  const auto due = tables_.loads.take_due();
  open_view(due[0]);
  FilterLoad load = tables_.loads.load(due[0]);
  ASSERT_EQ(load.begin(1, filter::DeleteMode::trusted), Intake::taken);
  load.ids_grow(4711);
  ASSERT_EQ(load.complete(), Intake::taken);
  ASSERT_TRUE(tables_.loads.publish(due[0], std::move(load)));
  insert(5000);
  commit();
  auto written = tables_.checkpoints.write(0, storage, "shop", "db1", soon());
  ASSERT_TRUE(written);
  ASSERT_TRUE(written->put_in_place());
  auto kept = read_checkpoint<Log>(storage.filter_path("shop", "users", "user"),
                                   bench_.parts[0].secret(),
                                   Log::definition_hash(bench_.targets()[0], planned("user")));
  ASSERT_TRUE(kept && *kept);
  EXPECT_EQ((*kept)->position.text(), "0-77-1");
  Bench after({{.name = "users", .keys = {"user:{id:uint64}"}, .table = "user"}},
              bench_.parts[0].secret());
  TableSet<Log> restarted(after.feeds(kMaxLag), after.clock.clock(), "shop");
  restarted.log.begin_at(at("0-77-1"));
  restarted.checkpoints.adopt(0, planned("user"), *std::move(*kept));
  EXPECT_TRUE(after.has("user:5000"));
  EXPECT_TRUE(after.lives[0].is_fresh_id(5001));
  EXPECT_FALSE(after.lives[0].is_fresh_id(4999));
}

// What it says it has committed may be of another log.
TEST_F(TableSetTest, a_log_that_is_resumed_erases_nothing_until_it_has_shown_its_last_group) {
  begin();
  load_all({1});
  const MadeLog again = log_;
  apply(erasing(1));
  tables_.log.reconnected({}, "db1");
  commit();
  EXPECT_TRUE(bench_.has("user:1"));
  log_ = again;
  apply({binlog::make_format(binlog::Brand::mariadb)});
  apply(erasing(1));
  commit();
  EXPECT_FALSE(bench_.has("user:1"));
}

// MariaDB logs XA COMMIT before its engine has done it.
TEST_F(TableSetTest, a_row_of_an_xa_transaction_passes_while_that_is_listed) {
  begin();
  load_all({1});
  commit();
  apply({log_.begin_prepared("x"),
         MadeLog::map(1, "user"),
         MadeLog::erase(1, 1),
         MadeLog::prepare("x")});
  apply({log_.begin_verdict("x"), MadeLog::xa_verdict("COMMIT", "x")});
  const auto xid = binlog::Xid::make(1, "x", "").value();
  tables_.log.see_committed({.position = {}, .place = {}, .listed = {xid}});
  EXPECT_TRUE(bench_.has("user:1"));
  commit();
  EXPECT_FALSE(bench_.has("user:1"));
}

// Its numbers are the same.
TEST_F(TableSetTest,
       a_log_that_is_resumed_proves_and_keeps_nothing_until_it_has_shown_its_last_group) {
  begin();
  load_all({});
  const MadeLog again = log_;
  insert(7);
  prove();
  ASSERT_TRUE(is_fresh());
  ASSERT_TRUE(tables_.checkpoints.version(0));
  bench_.clock.advance(kMaxLag);
  EXPECT_EQ(tables_.log.resume_position().text(), "");
  tables_.log.reconnected({}, "db1");
  prove();
  EXPECT_FALSE(is_fresh());
  EXPECT_FALSE(tables_.checkpoints.version(0));
  log_ = again;
  apply({binlog::make_format(binlog::Brand::mariadb)});
  insert(7);
  EXPECT_TRUE(is_fresh());
  EXPECT_TRUE(tables_.checkpoints.version(0));
  EXPECT_THAT(std::string(tables_.log.why_void()), IsEmpty());
}

TEST_F(TableSetTest, another_log_with_the_same_numbers_makes_all_be_read_anew) {
  begin();
  load_all({});
  const MadeLog again = log_;
  insert(7);
  prove();
  ASSERT_TRUE(is_fresh());
  tables_.log.reconnected({}, "db1");
  log_ = again;
  apply({binlog::make_format(binlog::Brand::mariadb),
         log_.begin(),
         MadeLog::map(1, "user"),
         MadeLog::insert(1, 8)});
  EXPECT_FALSE(tables_.log.apply(MadeLog::commit(), never_));
  EXPECT_THAT(std::string(tables_.log.why_void()), HasSubstr("reset or truncated"));
  EXPECT_FALSE(is_fresh());
  prove();
  EXPECT_FALSE(is_fresh());
  EXPECT_FALSE(tables_.checkpoints.version(0));
}

TEST_F(TableSetTest, a_log_that_ends_before_what_was_followed_makes_all_be_read_anew) {
  begin();
  load_all({});
  insert(7);
  insert(8);
  tables_.log.reconnected({}, "db1");
  apply({binlog::make_format(binlog::Brand::mariadb)});
  tables_.log.prove(bench_.clock.now(), at("0-77-1"));
  EXPECT_THAT(std::string(tables_.log.why_void()), HasSubstr("reset or truncated"));
}

TEST_F(TableSetTest, a_set_that_has_seen_no_group_cannot_go_on_with_a_log) {
  EXPECT_FALSE(tables_.log.can_resume());
  begin("0-77-9");
  EXPECT_FALSE(tables_.log.can_resume());
  log_.number_from(77, 10);
  insert(7);
  EXPECT_TRUE(tables_.log.can_resume());
  EXPECT_EQ(tables_.log.resume_position().text(), "0-77-9");
}

// The row has gone from one filter, is missing in the other, and there is no memory to tell of it.
TEST_F(TableSetTest, a_transaction_that_was_applied_in_part_proves_and_keeps_nothing) {
  begin();
  insert(1);
  const auto due = tables_.loads.take_due();
  open_view(0);
  ASSERT_TRUE(read(0, {1}));
  open_view(1);
  ASSERT_TRUE(read(1, {}));
  commit();
  prove();
  ASSERT_TRUE(is_fresh());
  ASSERT_TRUE(tables_.checkpoints.version(0));
  const std::vector<std::string> events = erasing(1);
  apply({events[0], events[1], events[2]});
  has_memory_ = false;
  EXPECT_THROW((void)tables_.log.apply(events[3], never_), std::bad_alloc);
  has_memory_ = true;
  EXPECT_FALSE(bench_.has("user:1"));
  EXPECT_EQ(tables_.log.position().text(), "0-77-1");
  EXPECT_THAT(std::string(tables_.log.why_void()), HasSubstr("in part"));
  EXPECT_FALSE(is_fresh());
  prove();
  EXPECT_FALSE(is_fresh());
  EXPECT_FALSE(tables_.checkpoints.version(0))
      << "would be kept with a position that it has passed";
}

TEST_F(TableSetTest, rows_that_were_erased_in_part_prove_and_keep_nothing) {
  begin();
  const auto due = tables_.loads.take_due();
  open_view(0);
  ASSERT_TRUE(read(0, {1}));
  open_view(1);
  ASSERT_TRUE(read(1, {}));
  prove();
  ASSERT_TRUE(is_fresh());
  apply(erasing(1));
  has_memory_ = false;
  EXPECT_THROW(commit(), std::bad_alloc);
  has_memory_ = true;
  EXPECT_THAT(std::string(tables_.log.why_void()), HasSubstr("in part"));
  EXPECT_FALSE(is_fresh());
}

// Its places say nothing of what the first one has committed.
TEST_F(TableSetTest, rows_that_wait_to_be_erased_when_another_server_is_followed_are_read_again) {
  begin();
  load_all({1});
  apply(erasing(1));
  tables_.log.reconnected({}, "db1");
  EXPECT_TRUE(tables_.loads.take_due().empty());
  tables_.log.reconnected({}, "db2");
  bench_.clock.advance(TableSetTimes::kRereadDelayMax);
  EXPECT_THAT(tables_.loads.take_due(), ElementsAre(0, 1));
}

TEST_F(TableSetTest, what_one_server_has_committed_is_not_what_the_next_one_has) {
  begin();
  load_all({1, 2});
  insert(3);
  tables_.log.see_committed(committed(5000));
  const MadeLog again = log_;
  insert(4);
  tables_.log.reconnected({}, "db2");
  apply({binlog::make_format(binlog::Brand::mariadb)});
  log_ = again;
  insert(4);
  apply(erasing(1));
  EXPECT_TRUE(bench_.has("user:1"));
  commit();
  EXPECT_FALSE(bench_.has("user:1"));
}

// The place that it would have for its erasures is not where the log was.
TEST_F(TableSetTest, no_table_is_published_while_a_log_is_resumed) {
  begin();
  insert(7);
  const auto due = tables_.loads.take_due();
  open_view(due[0]);
  tables_.log.reconnected({}, "db1");
  EXPECT_FALSE(read(due[0], {7}));
}

}  // namespace
}  // namespace cuckooguard::source::mysql
