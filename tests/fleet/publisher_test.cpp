#include "fleet/publisher.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fleet/keys.h"

namespace cuckooguard::fleet {
namespace {

constexpr TableId kTable = 1;

ChainBegin chain_at(std::uint64_t seq, const std::string& position) {
  return {.seq = seq,
          .tag = std::string(kHashBytes, 't'),
          .epoch = 1,
          .position = position,
          .end = "at " + position,
          .tables = {{kTable, {.version = 3, .is_ready = true}}}};
}

class PublisherTest : public testing::Test {
 protected:
  PublisherTest() {
    begin(publisher_);
    publisher_.next(false);  // that it is the one now
    publisher_.appended();
  }

  static void begin(Publisher& publisher) {
    publisher.anew(kTable);
    publisher.set_facts(kTable, {.is_ready = true});
    publisher.mark("", "at ");
    publisher.follow(chain_at(5, ""));
    publisher.take_over(1);
  }
  Entry read(const Publisher::Draft* draft) const {
    return read_entry(draft->bytes, keys_).value().entry;
  }

  const KeyFiles files_;
  const SigningKey key_ = files_.signing();
  const VerifyingKeys keys_ = files_.verifying();
  Publisher publisher_{key_, {}};
};

TEST_F(PublisherTest, an_entry_has_whole_transactions) {
  publisher_.insert(kTable, 10);
  publisher_.mark("a", "at a");
  publisher_.insert(kTable, 11);
  const Entry entry = read(publisher_.next(false));
  EXPECT_EQ(entry.seq, 7U);
  EXPECT_EQ(entry.position, "a");
  ASSERT_EQ(entry.tables.size(), 1U);
  EXPECT_EQ(entry.tables[0].inserted, std::vector<std::uint64_t>{10});
  publisher_.appended();
  EXPECT_EQ(publisher_.next(false), nullptr);
  publisher_.mark("ab", "at ab");
  EXPECT_EQ(read(publisher_.next(false)).tables[0].inserted, std::vector<std::uint64_t>{11});
}

TEST_F(PublisherTest, an_empty_one_comes_when_it_is_due) {
  EXPECT_EQ(publisher_.next(false), nullptr);
  const Publisher::Draft* const draft = publisher_.next(true);
  ASSERT_NE(draft, nullptr);
  EXPECT_TRUE(read(draft).tables.empty());
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
  ASSERT_TRUE(publisher_.can_answer());
  publisher_.insert(kTable, 10);
  EXPECT_FALSE(publisher_.can_answer()) << "in the middle of a transaction";
  publisher_.mark("a", "at a");
  const Publisher::Draft* const draft = publisher_.next(false);
  ASSERT_NE(draft, nullptr);
  EXPECT_TRUE(is_answered(draft->questions.at(0), draft->paths.at(0), read(draft).root));
  EXPECT_TRUE(publisher_.wants_questions());
}

TEST_F(PublisherTest, what_redis_has_lost_comes_again_as_it_was) {
  std::vector<Publisher::Draft> drafts;
  for (const std::string at : {"a", "ab", "abc"}) {
    publisher_.insert(kTable, at.size());
    publisher_.mark(at, "at " + at);
    drafts.push_back(*publisher_.next(false));
    publisher_.appended();
  }
  ASSERT_TRUE(publisher_.lost(7, drafts[0].tag));
  EXPECT_EQ(publisher_.next(false)->bytes, drafts[1].bytes);
  publisher_.appended();
  EXPECT_EQ(publisher_.next(false)->bytes, drafts[2].bytes);
  publisher_.appended();
  EXPECT_EQ(publisher_.next(false), nullptr);
  EXPECT_TRUE(publisher_.lost(9, drafts[2].tag)) << "nothing is lost";
  EXPECT_EQ(publisher_.next(false), nullptr);
  EXPECT_FALSE(publisher_.lost(8, drafts[2].tag)) << "another history";
}

TEST_F(PublisherTest, another_goes_on_where_the_log_ends) {
  Publisher standby(key_, {});
  standby.anew(kTable);
  standby.mark("", "at ");
  for (const std::string at : {"a", "ab", "abc"}) {
    standby.insert(kTable, at.size());
    standby.mark(at, "at " + at);
  }
  standby.follow(chain_at(9, "ab"));
  ASSERT_TRUE(standby.can_take_over());
  standby.take_over(2);
  const Entry entry = read(standby.next(false));
  EXPECT_EQ(entry.seq, 10U);
  EXPECT_EQ(entry.epoch, 2U);
  EXPECT_EQ(entry.position, "abc");
  EXPECT_EQ(entry.tables.at(0).inserted, std::vector<std::uint64_t>{3});
}

TEST_F(PublisherTest, one_that_is_behind_the_log_cannot_take_over) {
  Publisher standby(key_, {});
  standby.anew(kTable);
  standby.mark("", "at ");
  standby.mark("a", "at a");
  standby.follow(chain_at(9, "ab"));
  EXPECT_FALSE(standby.can_take_over());
  standby.mark("ab", "of another history");
  standby.follow(chain_at(9, "ab"));
  EXPECT_FALSE(standby.can_take_over()) << "it has the same number";
  standby.mark("ab", "at ab");
  standby.follow(chain_at(9, "ab"));
  EXPECT_TRUE(standby.can_take_over());
  standby.insert(kTable, 1);
  EXPECT_TRUE(standby.can_take_over()) << "in the middle of a transaction, which is not marked";
}

TEST_F(PublisherTest, rows_that_the_one_before_has_left_are_erased_once) {
  Publisher standby(key_, {});
  standby.anew(kTable);
  standby.mark("", "at ");
  standby.erase_later(kTable, 1);
  standby.erase_later(kTable, 2);
  standby.mark("a", "at a");
  standby.erase(kTable, 1);  // the one before has not; with 2 it is the other way round
  standby.mark("a", "at a");
  ChainBegin chain = chain_at(9, "a");
  chain.tables[kTable].deleted = {{1, 1}};
  standby.follow(chain);
  standby.take_over(2);
  EXPECT_EQ(read(standby.next(false)).tables.at(0).erased, std::vector<std::uint64_t>{1});
  standby.appended();
  EXPECT_FALSE(standby.cut(kTable, {})) << "2 is still there";
  standby.erase(kTable, 2);
  standby.mark("a", "at a");
  EXPECT_TRUE(read(standby.next(true)).tables.empty());
  standby.appended();
  EXPECT_TRUE(standby.cut(kTable, {}));
}

TEST_F(PublisherTest, more_than_it_can_remember_ends_its_publishing) {
  Publisher small(key_, {.journal = 3});
  begin(small);
  for (std::uint64_t hash = 0; hash < 4; ++hash) {
    EXPECT_TRUE(small.is_publishing());
    small.insert(kTable, hash);
  }
  EXPECT_FALSE(small.is_publishing());
  EXPECT_FALSE(small.can_take_over());
  small.mark("a", "at a");
  small.mark("ab", "at ab");
  small.follow(chain_at(9, ""));
  EXPECT_FALSE(small.can_take_over()) << "it does not know what was before a";
  small.follow(chain_at(9, "a"));
  EXPECT_TRUE(small.can_take_over());
}

TEST_F(PublisherTest, a_table_is_published_from_a_cut_on) {
  Publisher first(key_, {});
  first.set_facts(kTable, {.is_ready = true});
  first.mark("", "at ");
  ASSERT_TRUE(first.can_begin());
  first.begin(1, 5, std::string(kHashBytes, 't'));
  EXPECT_TRUE(first.wants_cut(kTable));
  first.insert(kTable, 10);
  first.mark("a", "at a");
  Digest digest;
  digest.add(10);
  const auto cut = first.cut(kTable, digest);
  ASSERT_TRUE(cut);
  EXPECT_FALSE(first.wants_cut(kTable));
  EXPECT_FALSE(cut->was_wrong);
  EXPECT_EQ(cut->version, cut->seq);
  std::vector<Entry> entries;
  for (; !first.is_all_appended(); first.appended()) {
    entries.push_back(read(first.next(false)));
  }
  EXPECT_TRUE(entries.front().tables.empty()) << "what was before is in the snapshot";
  ASSERT_EQ(entries.back().tables.size(), 1U);
  EXPECT_EQ(entries.back().seq, cut->seq);
  EXPECT_EQ(entries.back().tables[0].version, cut->version);
  EXPECT_EQ(entries.back().tables[0].digest, digest);
  first.insert(kTable, 11);
  first.mark("ab", "at ab");
  EXPECT_EQ(read(first.next(false)).tables.at(0).inserted, std::vector<std::uint64_t>{11});
}

TEST_F(PublisherTest, rows_that_were_told_wrongly_end_a_version) {
  publisher_.insert(kTable, 10);
  publisher_.mark("a", "at a");
  Digest digest;
  digest.add(10);
  const auto right = publisher_.cut(kTable, digest);
  ASSERT_TRUE(right);
  EXPECT_EQ(right->version, 3U);
  EXPECT_FALSE(right->was_wrong);
  digest.add(11);
  const auto wrong = publisher_.cut(kTable, digest);
  ASSERT_TRUE(wrong);
  EXPECT_TRUE(wrong->was_wrong);
  EXPECT_EQ(wrong->version, wrong->seq);
}

TEST_F(PublisherTest, what_is_told_of_a_table_ends_when_its_rows_are_others) {
  publisher_.insert(kTable, 10);
  publisher_.anew(kTable);
  publisher_.insert(kTable, 11);
  publisher_.mark("a", "at a");
  const Entry entry = read(publisher_.next(false));
  ASSERT_EQ(entry.tables.size(), 1U);
  EXPECT_EQ(entry.tables[0].version, 0U);
  EXPECT_TRUE(entry.tables[0].inserted.empty());
  EXPECT_TRUE(publisher_.wants_cut(kTable));
}

TEST_F(PublisherTest, of_a_large_transaction_its_tables_are_cut_anew) {
  Publisher small(key_, {.operations = 3});
  begin(small);
  small.next(false);
  small.appended();
  for (std::uint64_t hash = 0; hash < 4; ++hash) {
    small.insert(kTable, hash);
  }
  small.mark("a", "at a");
  const Entry entry = read(small.next(false));
  EXPECT_EQ(entry.position, "a");
  EXPECT_EQ(entry.tables.at(0).version, 0U);
}

TEST_F(PublisherTest, one_that_takes_over_says_itself_what_is_ready) {
  Publisher standby(key_, {});
  standby.anew(kTable);
  standby.mark("a", "at a");
  standby.set_list("its tables");
  standby.follow(chain_at(9, "a"));
  standby.take_over(2);
  const Entry entry = read(standby.next(false));
  EXPECT_EQ(entry.list, "its tables");
  ASSERT_EQ(entry.tables.size(), 1U);
  EXPECT_FALSE(entry.tables[0].is_ready);
  EXPECT_EQ(entry.tables[0].version, 3U);
  standby.appended();
  standby.set_facts(kTable, {.is_ready = true, .largest_id = 8});
  const Entry next = read(standby.next(false));
  EXPECT_TRUE(next.tables.at(0).is_ready);
  EXPECT_EQ(next.tables.at(0).largest_id, 8U);
  EXPECT_TRUE(next.list.empty());
}

TEST_F(PublisherTest, one_that_takes_over_ends_first_what_it_cannot_tell_of) {
  Publisher standby(key_, {.operations = 1});
  standby.anew(kTable);
  standby.mark("a", "at a");
  standby.lost(kTable);
  standby.mark("a", "at a");
  standby.follow(chain_at(9, "a"));
  standby.mark("ab", "at ab");
  standby.mark("abc", "at abc");
  standby.take_over(2);
  EXPECT_EQ(read(standby.next(false)).tables.at(0).version, 0U);
}

// --- trials ---

class PublisherTrials : public testing::Test {
 protected:
  PublisherTrials() {
    publisher_.set_trials(true);
    publisher_.mark("1", "1");
    publisher_.begin(1, 10, std::string(kHashBytes, 't'));
    load(7);
  }
  // Read again, as it is defined now.
  void load(std::uint64_t definition) {
    publisher_.anew(kTable, definition);
    publisher_.set_facts(kTable, {.is_ready = true});
    publisher_.mark("2", "2");
    publisher_.cut(kTable, {});
    say();
  }
  void say() {
    while (publisher_.next(true) != nullptr) {
      publisher_.appended();
      if (publisher_.is_all_appended()) {
        break;
      }
    }
  }
  bool is_on_trial() const { return publisher_.published().tables.at(kTable).is_on_trial; }

  const KeyFiles files_;
  const SigningKey key_ = files_.signing();
  Publisher publisher_{key_, {}};
};

TEST_F(PublisherTrials, a_first_load_and_one_of_the_same_definition_are_not_tried) {
  EXPECT_FALSE(is_on_trial());
  load(7);
  EXPECT_FALSE(is_on_trial());
}

TEST_F(PublisherTrials, another_definition_is_tried_until_it_is_promoted) {
  load(8);
  EXPECT_TRUE(is_on_trial());
  load(8);
  EXPECT_TRUE(is_on_trial()) << "it was not promoted";
  publisher_.promote(kTable);
  say();
  EXPECT_FALSE(is_on_trial());
  load(7);
  EXPECT_TRUE(is_on_trial()) << "back again is another one, too";
}

TEST_F(PublisherTrials, a_trial_goes_on_in_a_new_log) {
  load(8);
  publisher_.begin(2, 100, std::string(kHashBytes, 'u'));
  load(8);
  EXPECT_TRUE(is_on_trial());
}

TEST_F(PublisherTrials, nothing_is_tried_without_them) {
  publisher_.set_trials(false);
  load(8);
  EXPECT_FALSE(is_on_trial());
}

TEST_F(PublisherTrials, an_entry_says_who_tries) {
  publisher_.set_trial_below(77);
  say();
  EXPECT_EQ(publisher_.published().trial_below, 77U);
}

}  // namespace
}  // namespace cuckooguard::fleet
