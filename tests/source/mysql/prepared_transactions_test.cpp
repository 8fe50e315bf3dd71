#include <string>

#include <gtest/gtest.h>

#include "mysql/log_applier.h"
#include "source/mysql/made_log.h"

namespace cuckooguard::source::mysql {
namespace {

binlog::Xid xid(const std::string& name) {
  return binlog::Xid::make(1, name, "").value();
}

class PreparedTransactionsTest : public testing::Test {
 protected:
  PreparedTransactions::Rows rows(std::uint64_t count) {
    Transaction transaction(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      EXPECT_TRUE(transaction.add({.low = i << 32U, .high = i}, std::nullopt, i));
    }
    PreparedTransactions::Rows rows;
    rows.tables.emplace_back(&user_.table, std::move(transaction));
    return rows;
  }

  MadeTable user_{"user"};
};

TEST_F(PreparedTransactionsTest, are_given_back_once_with_their_rows) {
  PreparedTransactions prepared;
  ASSERT_TRUE(prepared.add(xid("a"), rows(3)));
  ASSERT_TRUE(prepared.add(xid("b"), rows(4)));
  const auto ended = prepared.end(xid("b"));
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->count(), 4U);
  EXPECT_FALSE(prepared.end(xid("b")));
}

TEST_F(PreparedTransactionsTest, keep_the_rows_of_tables_that_are_followed_alone) {
  PreparedTransactions prepared(5);
  ASSERT_TRUE(prepared.add(xid("a"), rows(5)));
  prepared.forget(user_.table);
  EXPECT_TRUE(prepared.add(xid("b"), rows(5))) << "there is room again";
  EXPECT_EQ(prepared.end(xid("a"))->count(), 0U);
  EXPECT_EQ(prepared.end(xid("b"))->count(), 5U);
}

TEST_F(PreparedTransactionsTest, are_all_forgotten_when_they_have_more_rows_than_can_be_kept) {
  PreparedTransactions prepared(5);
  ASSERT_TRUE(prepared.add(xid("a"), rows(3)));
  ASSERT_TRUE(prepared.add(xid("b"), rows(2)));
  ASSERT_TRUE(prepared.end(xid("b")));
  ASSERT_TRUE(prepared.add(xid("b"), rows(2)));
  EXPECT_FALSE(prepared.add(xid("c"), rows(1)));
  for (const char* const name : {"a", "b", "c"}) {
    EXPECT_FALSE(prepared.end(xid(name))) << name;
  }
  EXPECT_TRUE(prepared.add(xid("d"), rows(5)));
}

TEST_F(PreparedTransactionsTest, are_all_forgotten_when_they_are_too_many) {
  PreparedTransactions prepared;
  for (std::size_t i = 0; i < PreparedTransactions::kCountMax; ++i) {
    ASSERT_TRUE(prepared.add(xid(std::to_string(i)), {}));
  }
  EXPECT_FALSE(prepared.add(xid("one more"), {}));
  EXPECT_EQ(prepared.state(xid("0")), XaState::unknown);
}

TEST_F(PreparedTransactionsTest, are_known_to_have_ended_until_they_are_prepared_again) {
  PreparedTransactions prepared;
  EXPECT_EQ(prepared.state(xid("a")), XaState::unknown);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(prepared.add(xid("a"), rows(1)));
    EXPECT_EQ(prepared.state(xid("a")), XaState::prepared);
    ASSERT_TRUE(prepared.end(xid("a")));
    EXPECT_EQ(prepared.state(xid("a")), XaState::ended);
  }
  prepared.end(xid("never prepared"));
  EXPECT_EQ(prepared.state(xid("never prepared")), XaState::ended);
}

TEST_F(PreparedTransactionsTest,
       that_ended_last_are_remembered_longest_however_names_are_used_again) {
  PreparedTransactions prepared;
  prepared.end(xid("again"));
  prepared.end(xid("once"));
  for (std::size_t i = 0; i < PreparedTransactions::kEndedMax - 2; ++i) {
    prepared.end(xid(std::to_string(i)));
  }
  EXPECT_EQ(prepared.state(xid("once")), XaState::ended);
  prepared.end(xid("again"));
  prepared.end(xid("last"));
  EXPECT_EQ(prepared.state(xid("once")), XaState::unknown);
  EXPECT_EQ(prepared.state(xid("again")), XaState::ended);
  EXPECT_EQ(prepared.state(xid("0")), XaState::ended);
}

}  // namespace
}  // namespace cuckooguard::source::mysql
