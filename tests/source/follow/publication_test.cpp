// What a set of tables tells of its filters to whoever publishes them (source/publication.h). That
// it leads to these filters is checked at each mark, in all tests of sets (table_set_fixture.h).
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "harness/temporary_directory.h"
#include "source/follow/table_set_fixture.h"
#include "source/storage_directory.h"

namespace cuckooguard::source::mysql {
namespace {

using PublicationTest = TableSetTest;

TEST_F(PublicationTest, a_table_is_told_from_its_load_on_transaction_by_transaction) {
  begin();
  EXPECT_TRUE(told_.told.empty());
  load_all({1, 2});
  ASSERT_TRUE(told_.told.contains(users_));
  EXPECT_EQ(told_.told.at(users_).digest.count, 2U);
  insert(3);
  EXPECT_EQ(told_.told.at(users_).digest.count, 3U);
  EXPECT_EQ(told_.marks.back(), tables_.log.position().text());
  EXPECT_EQ(told_.ends.front(), "") << "no transaction has been seen";
  EXPECT_TRUE(told_.ends.back().contains(told_.marks.back()));
}

TEST_F(PublicationTest, a_row_is_deleted_by_its_transaction_and_erased_when_that_is_committed) {
  begin();
  load_all({1, 2});
  tables_.log.see_committed(committed(1));
  apply({log_.begin(), MadeLog::map(1, "user"), MadeLog::erase(1, 1), MadeLog::commit_at(500)});
  EXPECT_EQ(told_.told.at(users_).deleted.size(), 1U);
  EXPECT_EQ(told_.told.at(users_).digest.count, 2U);
  const std::size_t marks = told_.marks.size();
  tables_.log.see_committed(committed(500));
  EXPECT_TRUE(told_.told.at(users_).deleted.empty());
  EXPECT_EQ(told_.told.at(users_).digest.count, 1U);
  EXPECT_GT(told_.marks.size(), marks) << "what was erased is marked, too";
}

TEST_F(PublicationTest, a_row_that_comes_back_before_it_is_erased_leaves_nothing_to_be_erased) {
  begin();
  load_all({1});
  tables_.log.see_committed(committed(1));
  apply({log_.begin(), MadeLog::map(1, "user"), MadeLog::erase(1, 1), MadeLog::commit_at(500)});
  insert(1);
  EXPECT_TRUE(told_.told.at(users_).deleted.empty());
  tables_.log.see_committed(committed(500));
  EXPECT_EQ(told_.told.at(users_).digest.count, 1U);
}

TEST_F(PublicationTest, a_table_that_is_not_understood_is_told_no_more_until_it_is_read) {
  begin();
  load_all({1});
  commit();
  prove();
  EXPECT_TRUE(told_.ready.at(users_));
  apply(erasing(9));
  commit();
  EXPECT_FALSE(told_.told.contains(users_));
  prove();
  EXPECT_FALSE(told_.ready.at(users_));
  bench_.clock.advance(seconds(1));
  load_all({1, 4});
  EXPECT_TRUE(told_.told.contains(users_));
  prove();
  EXPECT_TRUE(told_.ready.at(users_));
}

TEST_F(PublicationTest, a_proof_is_told_behind_the_mark_of_what_it_proves) {
  begin();
  load_all({1});
  commit();
  insert(2);
  const TimePoint before = bench_.clock.now();
  prove();
  EXPECT_EQ(told_.proven_at, before);
  EXPECT_EQ(told_.marks.back(), tables_.log.position().text());
}

TEST_F(PublicationTest, rows_that_wait_when_a_load_is_published_are_told_as_deleted) {
  begin();
  load_all({1, 2});
  tables_.log.see_committed(committed(1));
  open_view(0);
  apply({log_.begin(), MadeLog::map(1, "user"), MadeLog::erase(1, 1), MadeLog::commit_at(500)});
  ASSERT_TRUE(read(0, {1, 2}));
  EXPECT_EQ(told_.told.at(users_).deleted.size(), 1U);
  tables_.log.see_committed(committed(500));
  EXPECT_EQ(told_.told.at(users_).digest.count, 1U);
}

TEST_F(PublicationTest, a_table_that_is_built_again_goes_on_with_what_waits_in_the_new_filter) {
  begin();
  load_all({1, 2});
  tables_.log.see_committed(committed(1));
  const int begun = told_.begun;
  apply({log_.begin(), MadeLog::map(1, "user"), MadeLog::erase(1, 1), MadeLog::commit_at(500)});
  open_view(0);  // which has it still
  apply({log_.begin(), MadeLog::map(1, "user"), MadeLog::erase(1, 2), MadeLog::commit_at(600)});
  ASSERT_TRUE(read(0, {2}));
  EXPECT_EQ(told_.begun, begun);
  EXPECT_EQ(told_.rebuilds, 1);
  EXPECT_EQ(told_.told.at(users_).deleted.size(), 1U) << "of two that waited";
  tables_.log.see_committed(committed(600));
  EXPECT_EQ(told_.told.at(users_).digest.count, 0U);
}

TEST_F(PublicationTest, a_table_that_is_read_with_other_rows_begins_anew) {
  begin();
  load_all({1, 2});
  const int begun = told_.begun;
  open_view(0);
  ASSERT_TRUE(read(0, {1}));
  EXPECT_EQ(told_.begun, begun + 1);
  EXPECT_EQ(told_.rebuilds, 0);
}

TEST_F(PublicationTest, a_file_is_written_of_what_was_told_up_to_a_mark) {
  const harness::TemporaryDirectory directory;
  const StorageDirectory storage = StorageDirectory::open(directory.file("kept")).value();
  begin();
  load_all({1});
  insert(2);
  commit();
  const auto soon = std::chrono::steady_clock::now() + seconds(2);
  ASSERT_TRUE(tables_.checkpoints.write(0, storage, "shop", "db1", soon));
  EXPECT_EQ(told_.cuts, std::vector{users_});
  EXPECT_FALSE(tables_.checkpoints.is_wanted(0));
  told_.wants_cuts = true;
  EXPECT_TRUE(tables_.checkpoints.is_wanted(0));
  apply(erasing(9));
  commit();
  EXPECT_FALSE(tables_.checkpoints.is_wanted(0)) << "it is out of step";
}

// Rows come and go, the server commits, tables are read again: the recorder looks at each mark.
class PublicationAtRandom : public TableSetTest {
 protected:
  void begin_with(std::uint32_t seed) {
    random_.seed(seed);
    rows_ = {1, 2, 3};
    begin();
    bench_.clock.advance(seconds(200));
    load_all({1, 2, 3});
    tables_.log.see_committed(committed(place_));
  }
  void step() {
    if (below(100) < 70) {
      change(1 + below(12));
    } else if (below(3) > 0) {
      tables_.log.see_committed(committed(place_ * 10 - below(2) * 10));
      prove();
    } else {
      read_again();
    }
  }

 private:
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(random_() % bound); }
  void change(std::uint32_t id) {
    const bool goes = rows_.erase(id) > 0;
    if (!goes) {
      rows_.insert(id);
    }
    apply({log_.begin(),
           MadeLog::map(1, "user"),
           goes ? MadeLog::erase(1, id) : MadeLog::insert(1, id),
           MadeLog::commit_at(++place_ * 10)});
  }
  void read_again() {
    bench_.lives[0].ask_for_rebuild();
    tables_.loads.tend();
    for (const TableIndex index : tables_.loads.take_due()) {
      open_view(index);
      ASSERT_TRUE(read(index, {rows_.begin(), rows_.end()}));
    }
  }

  std::minstd_rand random_;
  std::set<std::uint32_t> rows_;
  std::uint32_t place_ = 1;
};

TEST_F(PublicationAtRandom, what_is_told_leads_to_the_filters) {
  for (std::uint32_t seed = 1; seed <= 200 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    begin_with(seed);
    const int begun = told_.begun;
    for (int i = 0; i < 60; ++i) {
      step();
    }
    EXPECT_TRUE(told_.told.contains(users_));
    EXPECT_EQ(told_.begun, begun) << "what is read again goes on";
  }
  EXPECT_GT(told_.rebuilds, 0);
}

TEST_F(PublicationTest, a_table_has_another_number_if_it_is_defined_otherwise) {
  Bench other({{.name = "users", .keys = {"u:{id:uint64}"}, .table = "user"}},
              bench_.parts[0].secret());
  Bench alike({{.name = "users", .keys = {"user:{id:uint64}"}, .table = "user"}},
              bench_.parts[0].secret());
  Bench of_another_secret({{.name = "users", .keys = {"user:{id:uint64}"}, .table = "user"}});
  EXPECT_EQ(published_number(alike.targets()[0], "user"), users_);
  EXPECT_NE(published_number(other.targets()[0], "user"), users_);
  EXPECT_NE(published_number(of_another_secret.targets()[0], "user"), users_);
}

}  // namespace
}  // namespace cuckooguard::source::mysql
