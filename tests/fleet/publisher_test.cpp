#include "fleet/publisher.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fleet/keys.h"

namespace cuckooguard::fleet {
namespace {

constexpr std::uint32_t kTable = 1;

bool covers(std::string_view reached, std::string_view position) {
  return reached.size() >= position.size();  // as many letters as transactions
}

class PublisherTest : public testing::Test {
 protected:
  PublisherTest() { begin(publisher_, 1); }

  void begin(Publisher& publisher, std::uint64_t epoch) {
    publisher.mark("");
    publisher.follow({.seq = 5, .tag = std::string(kHashBytes, 't'), .epoch = epoch, .resume = ""});
    publisher.take_over(epoch);
  }
  Entry read(const Publisher::Draft* draft) const {
    return read_entry(draft->bytes, keys_).value().entry;
  }

  const KeyFiles files_;
  const SigningKey key_ = files_.signing();
  const VerifyingKeys keys_ = files_.verifying();
  Publisher publisher_{key_, covers, {}};
};

TEST_F(PublisherTest, an_entry_has_whole_transactions) {
  publisher_.insert(kTable, 10);
  publisher_.mark("a");
  publisher_.insert(kTable, 11);
  const Entry entry = read(publisher_.next(false));
  EXPECT_EQ(entry.seq, 6U);
  EXPECT_EQ(entry.resume, "a");
  ASSERT_EQ(entry.tables.size(), 1U);
  EXPECT_EQ(entry.tables[0].inserted, std::vector<std::uint64_t>{10});
  publisher_.appended();
  EXPECT_EQ(publisher_.next(false), nullptr);
  publisher_.mark("ab");
  EXPECT_EQ(read(publisher_.next(false)).tables[0].inserted, std::vector<std::uint64_t>{11});
}

TEST_F(PublisherTest, an_empty_one_comes_when_it_is_due) {
  EXPECT_EQ(publisher_.next(false), nullptr);
  const Publisher::Draft* const draft = publisher_.next(true);
  ASSERT_NE(draft, nullptr);
  EXPECT_EQ(draft->before, std::string(kHashBytes, 't'));
  EXPECT_EQ(publisher_.next(false), draft) << "until it is appended";
}

TEST_F(PublisherTest, answers_what_was_read_before_the_database_was_asked) {
  const TimePoint begin{};
  publisher_.questions_read({{.name = "pod", .nonce = std::string(kNonceBytes, 'n')}},
                            begin + std::chrono::seconds(2));
  publisher_.proven(begin + std::chrono::seconds(1));
  EXPECT_EQ(publisher_.next(false), nullptr);
  EXPECT_FALSE(publisher_.wants_questions());
  publisher_.proven(begin + std::chrono::seconds(2));
  const Publisher::Draft* const draft = publisher_.next(false);
  ASSERT_NE(draft, nullptr);
  EXPECT_TRUE(is_answered(draft->questions.at(0), draft->paths.at(0), read(draft).root));
  EXPECT_TRUE(publisher_.wants_questions());
}

TEST_F(PublisherTest, what_redis_has_lost_comes_again_as_it_was) {
  std::vector<Publisher::Draft> drafts;
  for (const std::string at : {"a", "ab", "abc"}) {
    publisher_.insert(kTable, at.size());
    publisher_.mark(at);
    drafts.push_back(*publisher_.next(false));
    publisher_.appended();
  }
  ASSERT_TRUE(publisher_.lost(6, drafts[0].tag));
  EXPECT_EQ(publisher_.next(false)->bytes, drafts[1].bytes);
  publisher_.appended();
  EXPECT_EQ(publisher_.next(false)->bytes, drafts[2].bytes);
  publisher_.appended();
  EXPECT_EQ(publisher_.next(false), nullptr);
  EXPECT_TRUE(publisher_.lost(8, drafts[2].tag)) << "nothing is lost";
  EXPECT_EQ(publisher_.next(false), nullptr);
  EXPECT_FALSE(publisher_.lost(7, drafts[2].tag)) << "another history";
}

TEST_F(PublisherTest, another_goes_on_where_the_log_ends) {
  Publisher standby(key_, covers, {});
  standby.mark("");
  for (const std::string at : {"a", "ab", "abc"}) {
    standby.insert(kTable, at.size());
    standby.mark(at);
  }
  standby.follow({.seq = 9, .tag = std::string(kHashBytes, 'u'), .epoch = 1, .resume = "ab"});
  ASSERT_TRUE(standby.can_take_over());
  standby.take_over(2);
  const Entry entry = read(standby.next(false));
  EXPECT_EQ(entry.seq, 10U);
  EXPECT_EQ(entry.epoch, 2U);
  EXPECT_EQ(entry.resume, "abc");
  EXPECT_EQ(entry.tables.at(0).inserted, std::vector<std::uint64_t>{3});
}

TEST_F(PublisherTest, one_that_is_behind_the_log_cannot_take_over) {
  Publisher standby(key_, covers, {});
  standby.mark("");
  standby.mark("a");
  standby.follow({.seq = 9, .tag = std::string(kHashBytes, 'u'), .epoch = 1, .resume = "ab"});
  EXPECT_FALSE(standby.can_take_over());
  standby.mark("ab");
  EXPECT_TRUE(standby.can_take_over());
  standby.insert(kTable, 1);
  EXPECT_FALSE(standby.can_take_over()) << "in the middle of a transaction";
}

TEST_F(PublisherTest, rows_that_the_one_before_has_left_are_erased_once) {
  Publisher standby(key_, covers, {});
  standby.mark("");
  standby.erase_later(kTable, 1);
  standby.erase_later(kTable, 2);
  standby.mark("a");
  standby.erase(kTable, 1);  // the one before has not; with 2 it is the other way round
  standby.mark("a");
  ChainBegin chain{.seq = 9, .tag = std::string(kHashBytes, 'u'), .epoch = 1, .resume = "a"};
  chain.tables[kTable].deleted = {{1, 1}};
  standby.follow(chain);
  standby.take_over(2);
  EXPECT_EQ(read(standby.next(false)).tables.at(0).erased, std::vector<std::uint64_t>{1});
  standby.appended();
  EXPECT_FALSE(standby.is_as_published());
  standby.erase(kTable, 2);
  standby.mark("a");
  EXPECT_TRUE(read(standby.next(true)).tables.empty());
  standby.appended();
  EXPECT_TRUE(standby.is_as_published());
}

TEST_F(PublisherTest, more_than_it_can_remember_ends_its_publishing) {
  Publisher small(key_, covers, {.journal = 3});
  begin(small, 1);
  for (std::uint64_t hash = 0; hash < 4; ++hash) {
    EXPECT_TRUE(small.is_publishing());
    small.insert(kTable, hash);
  }
  EXPECT_FALSE(small.is_publishing());
  EXPECT_FALSE(small.can_take_over());
  small.mark("a");
  small.mark("ab");
  small.follow({.seq = 9, .tag = std::string(kHashBytes, 'u'), .epoch = 1, .resume = ""});
  EXPECT_FALSE(small.can_take_over()) << "it does not know what was before a";
  small.follow({.seq = 9, .tag = std::string(kHashBytes, 'u'), .epoch = 1, .resume = "a"});
  EXPECT_TRUE(small.can_take_over());
}

}  // namespace
}  // namespace cuckooguard::fleet
