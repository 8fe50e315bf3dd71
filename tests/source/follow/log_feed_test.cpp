#include "follow/log_feed.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "mysql/log_applier.h"
#include "source/bench.h"
#include "source/filter_load.h"

namespace cuckooguard::source::mysql {
namespace {

using config::Deletes;
using filter::DeleteMode;

// `id`, `user_id` and `deleted_at`: keys of users, of which any number of rows may be.
TablePlan orders(const std::string& where) {
  const Column integer{.name = "id",
                       .data_type = "bigint",
                       .column_type = "bigint(20)",
                       .charset = "",
                       .collation = ""};
  TablePlan plan;
  plan.schema = "shop";
  plan.name = "orders";
  plan.columns = {integer, integer, integer};
  plan.identity = {1};
  plan.primary_key = {0};
  if (!where.empty()) {
    plan.condition = keyspace::RowCondition::parse(where).value();
    plan.condition_columns = {2};
  }
  return plan;
}

class LogFeedTest : public testing::Test {
 protected:
  // Needed are user_id, then, with a condition, deleted_at, then id.
  void load(DeleteMode deletes, int rows, const std::string& where = "") {
    plan_ = orders(where);
    feed_ = std::make_unique<LogFeed<Log>>(feeds_.front(), plan_, proofs_);
    ASSERT_EQ(feeds_.front().begin(static_cast<std::uint64_t>(rows), deletes), Intake::taken);
    for (int id = 0; id < rows; ++id) {
      ASSERT_EQ(
          feeds_.front().add(LogFeed<Log>::identity(plan_, std::vector<Value>{user(id), "0"})),
          Intake::taken);
    }
    ASSERT_EQ(feeds_.front().complete(), Intake::taken);
    feed_->go_live();
    ASSERT_TRUE(feed_->make_erasures({.place = end_}));  // what is logged there is committed
  }

  using Value = std::optional<std::string_view>;

  Transaction::Image image(const std::vector<Value>& values) {
    return feed_->image(values).value();
  }
  // Rows `from` to `to` go.
  std::expected<void, std::string> erase(int from, int to) {
    Transaction transaction(1'000'000);
    for (int id = from; id < to; ++id) {
      const std::vector<Value> values = {user(id), "0"};
      EXPECT_TRUE(transaction.add(
          {.low = static_cast<std::uint64_t>(id), .high = 1}, image(values), std::nullopt));
    }
    return feed_->erase({.gtid = gtid_, .end = end_}, transaction);
  }
  // Of the row with this id.
  std::string_view user(int id) {
    text_ = users_ == 0 ? std::to_string(id) : std::to_string(id % users_);
    return text_;
  }

  Bench bench_;
  Feeds feeds_ = bench_.feeds();
  TablePlan plan_;
  PositionProofs<LogPosition, LogPlace> proofs_;
  std::unique_ptr<LogFeed<Log>> feed_;
  int users_ = 0;  // 0: each row is another one's
  std::string text_;
  LogGtid gtid_{};
  LogPlace end_{};
};

TEST_F(LogFeedTest, has_no_image_of_a_row_that_does_not_count) {
  load(DeleteMode::trusted, 0, "deleted_at IS NULL");
  EXPECT_TRUE(image({"7", std::nullopt, "1"}));
  EXPECT_FALSE(image({"7", "x", "1"}));
  EXPECT_TRUE(feed_->counts(std::vector<Value>{"7", std::nullopt, "1"}));
  EXPECT_FALSE(feed_->counts(std::vector<Value>{"7", "x", "1"}));
}

// The next row has an id above it, whether this one counts or not.
TEST_F(LogFeedTest, learns_how_far_ids_have_grown_from_rows_that_do_not_count) {
  plan_ = orders("deleted_at IS NULL");
  feed_ = std::make_unique<LogFeed<Log>>(feeds_.front(), plan_, proofs_);
  ASSERT_EQ(feeds_.front().begin(0, DeleteMode::trusted), Intake::taken);
  feeds_.front().ids_grow(100);
  ASSERT_EQ(feeds_.front().complete(), Intake::taken);
  feed_->go_live();
  EXPECT_FALSE(bench_.lives[0].is_fresh_id(5001));
  EXPECT_FALSE(image({"5000", "x", "1"}));
  ASSERT_TRUE(feed_->insert({.gtid = gtid_, .end = end_}, Transaction(1)));
  EXPECT_TRUE(bench_.lives[0].is_fresh_id(5001));
}

// What is wrong with a row that does not count is of no concern.
TEST_F(LogFeedTest, looks_no_further_into_rows_that_do_not_count) {
  load(DeleteMode::trusted, 0, "deleted_at IS NULL");
  EXPECT_FALSE(feed_->image(std::vector<Value>{"9007199254740993x", std::nullopt, "1"}));
  EXPECT_TRUE(feed_->image(std::vector<Value>{"9007199254740993x", "x", "1"}));
}

TEST_F(LogFeedTest, exact_keeps_an_identity_until_its_last_row_has_gone) {
  users_ = 1;
  load(DeleteMode::exact, 500);
  ASSERT_TRUE(erase(0, 499));
  EXPECT_TRUE(bench_.has("user:0"));
  ASSERT_TRUE(erase(499, 500));
  EXPECT_FALSE(bench_.has("user:0"));
  EXPECT_FALSE(erase(0, 1)) << "what was never there cannot go";
}

// As of two rows that a binary collation tells apart and |ci does not.
TEST_F(LogFeedTest, trusted_keeps_an_identity_until_its_last_row_has_gone) {
  users_ = 1;
  for (int rows = 2; rows < 4; ++rows) {
    load(DeleteMode::trusted, rows);
    ASSERT_TRUE(erase(0, rows - 1));
    EXPECT_TRUE(bench_.has("user:0"));
    ASSERT_TRUE(erase(rows - 1, rows));
    EXPECT_FALSE(bench_.has("user:0"));
  }
  load(DeleteMode::trusted, 500);
  ASSERT_TRUE(erase(0, 499));
  EXPECT_TRUE(bench_.has("user:0")) << "more than are counted: it stays";
}

TEST_F(LogFeedTest, deferred_keeps_what_has_gone_and_wants_to_be_rebuilt_when_it_is_much) {
  load(DeleteMode::deferred, 30'000);
  EXPECT_FALSE(feed_->wants_rebuild());
  ASSERT_TRUE(erase(0, 2900));
  EXPECT_TRUE(bench_.has("user:0"));
  EXPECT_FALSE(feed_->wants_rebuild());
  ASSERT_TRUE(erase(2900, 3100));
  EXPECT_TRUE(feed_->wants_rebuild());
}

TEST_F(LogFeedTest, deletes_at_once_need_no_rebuild) {
  for (const DeleteMode mode : {DeleteMode::trusted, DeleteMode::exact}) {
    load(mode, 5000);
    ASSERT_TRUE(erase(0, 4000));
    EXPECT_FALSE(feed_->wants_rebuild());
  }
}

TEST(ChosenDeletes, are_trusted_only_where_no_two_rows_have_one_identity) {
  EXPECT_EQ(chosen_deletes(Deletes::automatic, true), DeleteMode::trusted);
  EXPECT_EQ(chosen_deletes(Deletes::automatic, false), DeleteMode::deferred);
  EXPECT_EQ(chosen_deletes(Deletes::trusted, true), DeleteMode::trusted);
  EXPECT_EQ(chosen_deletes(Deletes::trusted, false), DeleteMode::deferred) << "refused before";
  for (const bool is_unique : {true, false}) {
    EXPECT_EQ(chosen_deletes(Deletes::exact, is_unique), DeleteMode::exact);
    EXPECT_EQ(chosen_deletes(Deletes::deferred, is_unique), DeleteMode::deferred);
  }
}

// It has its mark further on.
TEST_F(LogFeedTest, keeps_what_has_gone_until_the_server_has_committed_it) {
  load(DeleteMode::trusted, 2);
  end_.position = 500;
  ASSERT_TRUE(erase(0, 1));
  EXPECT_TRUE(bench_.has("user:0"));
  EXPECT_TRUE(feed_->has_erasures());
  ASSERT_TRUE(feed_->make_erasures({.place = {.file = "", .position = 499}}));
  EXPECT_TRUE(bench_.has("user:0"));
  const std::uint64_t before = feed_->changes();
  ASSERT_TRUE(feed_->make_erasures({.place = end_}));
  EXPECT_FALSE(bench_.has("user:0"));
  EXPECT_TRUE(bench_.has("user:1"));
  EXPECT_FALSE(feed_->has_erasures());
  EXPECT_NE(feed_->changes(), before) << "a file would have it";
}

TEST_F(LogFeedTest, says_when_a_row_that_is_committed_as_gone_was_never_there) {
  load(DeleteMode::trusted, 2);
  end_.position = 500;
  ASSERT_TRUE(erase(7, 8));
  EXPECT_FALSE(feed_->make_erasures({.place = end_}));
}

// More copies than two buckets hold.
TEST_F(LogFeedTest, counts_a_row_that_comes_and_goes_before_it_is_committed_once) {
  load(DeleteMode::trusted, 1);
  end_.position = 500;
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(erase(0, 1));
    Transaction back(1);
    ASSERT_TRUE(back.add({.low = 0, .high = 1}, std::nullopt, image({"0", "0"})));
    ASSERT_TRUE(feed_->insert({.gtid = gtid_, .end = end_}, back));
  }
  ASSERT_TRUE(feed_->make_erasures({.place = end_}));
  EXPECT_TRUE(bench_.has("user:0"));
  EXPECT_EQ(bench_.lives[0].writable()->stats().items, 1U);
  ASSERT_TRUE(erase(0, 1));
  EXPECT_FALSE(bench_.has("user:0"));
}

// An insert would take the erasure back, and nobody would notice.
TEST_F(LogFeedTest, says_when_a_row_comes_back_that_the_filter_never_had) {
  load(DeleteMode::trusted, 2);
  end_.position = 500;
  ASSERT_TRUE(erase(7, 8));
  Transaction back(1);
  ASSERT_TRUE(back.add({.low = 7, .high = 1}, std::nullopt, image({"7", "0"})));
  EXPECT_FALSE(feed_->insert({.gtid = gtid_, .end = end_}, back));
}

}  // namespace
}  // namespace cuckooguard::source::mysql
