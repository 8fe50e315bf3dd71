#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "follow/log_feed.h"
#include "mysql/log_applier.h"

namespace cuckooguard::source::mysql {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::string kUuid = "3e11fa47-71ca-11e1-9e33-c80aa9429562";

class DeferredErasuresTest : public testing::Test {
 protected:
  // The row of this hash goes with what the log has at this place.
  void add(std::uint64_t place, std::uint64_t hash, bool is_xa_commit = false) {
    add({.gtid = gtid_, .end = {.file = "", .position = place}, .is_xa_commit = is_xa_commit},
        hash);
  }
  void add(const CommitMark& mark, std::uint64_t hash) {
    Transaction transaction(1);
    ASSERT_TRUE(transaction.add({.low = hash, .high = 1}, hash, std::nullopt));
    erasures_.add(mark, transaction, [this](std::uint64_t each) { erased_.push_back(each); });
  }
  // The server has committed so much.
  void commit(std::uint64_t place, bool has_xa = true) {
    commit({.position = {}, .place = {.file = "", .position = place}, .has_xa = has_xa});
  }
  void commit(const Committed& committed) {
    erasures_.make(committed, [this](std::uint64_t each) { erased_.push_back(each); });
  }

  const LogGtid gtid_ = binlog::MariaDbGtid{};
  DeferredErasures<Log> erasures_;
  std::vector<std::uint64_t> erased_;
};

TEST_F(DeferredErasuresTest, are_made_when_they_are_committed_and_not_before) {
  add(500, 7);
  add(600, 8);
  commit(499);
  EXPECT_THAT(erased_, IsEmpty());
  commit(500);
  EXPECT_THAT(erased_, ElementsAre(7));
  add(550, 9);
  EXPECT_THAT(erased_, ElementsAre(7));
  add(500, 10);
  EXPECT_THAT(erased_, ElementsAre(7))
      << "of whatever was before it, there may be one of the same row";
  commit(600);
  EXPECT_THAT(erased_, ElementsAre(7, 8, 9, 10));
  EXPECT_TRUE(erasures_.is_empty());
  add(600, 11);
  EXPECT_THAT(erased_, ElementsAre(7, 8, 9, 10, 11)) << "at once";
}

// Another server's places say nothing.
TEST_F(DeferredErasuresTest, wait_again_when_what_was_committed_is_forgotten) {
  commit(600);
  erasures_.forget_committed();
  add(500, 7);
  EXPECT_THAT(erased_, IsEmpty());
  commit(500);
  EXPECT_THAT(erased_, ElementsAre(7));
}

TEST_F(DeferredErasuresTest, that_are_taken_back_are_not_made_and_each_is_once) {
  add(500, 7);
  EXPECT_FALSE(erasures_.take_back(8)) << "it is to be inserted";
  EXPECT_TRUE(erasures_.take_back(7));
  EXPECT_FALSE(erasures_.take_back(7)) << "a second row";
  add(600, 7);
  commit(600);
  EXPECT_THAT(erased_, ElementsAre(7));
  EXPECT_FALSE(erasures_.take_back(7));
}

// MariaDB logs XA COMMIT before its engine has done it.
TEST_F(DeferredErasuresTest, of_xa_transactions_wait_until_none_is_listed_any_more) {
  add(500, 7, true);
  commit(600, false);
  EXPECT_THAT(erased_, IsEmpty());
  commit(600);
  EXPECT_THAT(erased_, ElementsAre(7));
  add(500, 8, true);
  EXPECT_THAT(erased_, ElementsAre(7)) << "what was heard before says nothing of it";
}

TEST_F(DeferredErasuresTest, of_mysql_are_made_when_its_executed_set_has_them) {
  const LogGtid gtid = parse_gtid(kUuid + ":9", false).value();
  add(CommitMark{.gtid = gtid, .end = {}}, 7);
  commit({.position = LogPosition::parse(kUuid + ":1-8", false).value(),
          .place = {.file = "z", .position = 1000},
          .has_xa = true});
  EXPECT_THAT(erased_, IsEmpty());
  commit({.position = LogPosition::parse(kUuid + ":1-9", false).value()});
  EXPECT_THAT(erased_, ElementsAre(7));
}

// They are what a loader has found in the log.
TEST_F(DeferredErasuresTest, of_many_transactions_are_made_when_all_are_committed) {
  erasures_.begin_all({.position = {}, .place = {.file = "", .position = 500}});
  erasures_.add_one(7);
  commit(499);
  commit(500, false);
  EXPECT_THAT(erased_, IsEmpty()) << "an XA COMMIT may be among them";
  commit(500);
  EXPECT_THAT(erased_, ElementsAre(7));
  erasures_.begin_all({.position = LogPosition::parse(kUuid + ":1-9", false).value(), .place = {}});
  erasures_.add_one(8);
  commit({.position = LogPosition::parse(kUuid + ":1-8", false).value(), .has_xa = true});
  EXPECT_THAT(erased_, ElementsAre(7));
  commit({.position = LogPosition::parse(kUuid + ":1-9", false).value()});
  EXPECT_THAT(erased_, ElementsAre(7, 8));
}

}  // namespace
}  // namespace cuckooguard::source::mysql
