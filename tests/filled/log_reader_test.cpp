#include "filled/log_reader.h"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace cuckooguard::filled {
namespace {

using Verdict = LogReader::Verdict;

const std::string kGeneration = "a generation";

std::string writer(char name) {
  return std::string(kWriterBytes, name);
}

class Reading : public testing::Test {
 protected:
  // As a guard appends it, and the script numbers it.
  Entry entry(char name, std::uint64_t counter, std::uint64_t seq) const {
    Entry entry{.seq = seq,
                .writer = writer(name),
                .counter = counter,
                .after = seq - 1,
                .body = "body " + std::to_string(seq)};
    entry.tag = key_.tag_of(entry, kGeneration);
    return entry;
  }
  Verdict take(const Entry& entry, LogReader& reader) const {
    const Verdict verdict = reader.judge(entry);
    if (verdict == Verdict::apply) {
      reader.applied(entry, "trace");
    }
    return verdict;
  }
  Verdict take(const Entry& entry) { return take(entry, reader_); }
  // Entries of one writer, up to this number.
  void read_up_to(std::uint64_t seq, char name) {
    while (reader_.seq() < seq) {
      ASSERT_EQ(take(entry(name, reader_.seq() + 1, reader_.seq() + 1)), Verdict::apply);
    }
  }
  static LogReader restored(const LogReader& from, const LogKey& key) {
    LogReader reader(key, kGeneration);
    const std::string state = from.state();
    text::LittleEndianCursor bytes(state);
    EXPECT_TRUE(reader.restore(bytes));
    EXPECT_TRUE(bytes.at_end());
    return reader;
  }

  LogKey key_{"a key that all guards have"};
  LogReader reader_{key_, kGeneration};
};

TEST_F(Reading, entries_are_applied_in_their_order) {
  EXPECT_EQ(take(entry('a', 1, 1)), Verdict::apply);
  EXPECT_EQ(take(entry('b', 1, 2)), Verdict::apply);
  EXPECT_EQ(take(entry('a', 5, 3)), Verdict::apply) << "those between were refused by Redis";
  EXPECT_EQ(reader_.seq(), 3U);
  EXPECT_EQ(reader_.last_tag(), entry('a', 5, 3).tag);
}

TEST_F(Reading, what_nobody_with_the_key_has_written_is_skipped_as_if_it_were_not_there) {
  Entry forged = entry('a', 1, 1);
  forged.body += "x";
  EXPECT_EQ(take(forged), Verdict::foreign);
  Entry of_another_key = entry('a', 1, 1);
  of_another_key.tag = LogKey("another key").tag_of(of_another_key, kGeneration);
  EXPECT_EQ(take(of_another_key), Verdict::foreign);
  Entry of_another_generation = entry('a', 1, 1);
  of_another_generation.tag = key_.tag_of(of_another_generation, "another");
  EXPECT_EQ(take(of_another_generation), Verdict::foreign);
  EXPECT_EQ(take({}), Verdict::foreign) << "fields that are no entry";
  EXPECT_EQ(take(entry('a', 1, 1)), Verdict::apply) << "its number was not used";
}

TEST_F(Reading, a_copy_is_skipped_whatever_its_number) {
  ASSERT_EQ(take(entry('a', 1, 1)), Verdict::apply);
  ASSERT_EQ(take(entry('b', 1, 2)), Verdict::apply);
  for (const std::uint64_t seq : {1, 2, 3, 4, 100}) {
    Entry copy = entry('a', 1, 1);
    copy.seq = seq;
    EXPECT_EQ(take(copy), Verdict::copied) << seq;
  }
  EXPECT_EQ(take(entry('a', 2, 3)), Verdict::apply);
}

TEST_F(Reading, a_number_that_is_not_the_next_one_has_all_read_again) {
  ASSERT_EQ(take(entry('a', 1, 1)), Verdict::apply);
  ASSERT_EQ(take(entry('a', 2, 2)), Verdict::apply);
  EXPECT_EQ(take(entry('a', 4, 4)), Verdict::reread) << "one is missing";
  EXPECT_EQ(take(entry('b', 1, 2)), Verdict::reread) << "the end was lost, and is others' now";
  EXPECT_EQ(take(entry('b', 1, 1)), Verdict::reread);
}

TEST_F(Reading, an_entry_of_a_history_that_was_lost_is_skipped) {
  ASSERT_EQ(take(entry('a', 1, 1)), Verdict::apply);
  Entry from_nowhere = entry('b', 1, 40);  // it knew of 39
  from_nowhere.seq = 2;
  EXPECT_EQ(take(from_nowhere), Verdict::copied);
  EXPECT_EQ(take(entry('b', 2, 2)), Verdict::apply);
}

TEST_F(Reading, a_copy_of_an_entry_of_a_writer_that_is_forgotten_is_skipped) {
  ASSERT_EQ(take(entry('a', 1, 1)), Verdict::apply);
  read_up_to(LogReader::kWindow, 'b');
  Entry copy = entry('a', 1, 1);
  copy.seq = reader_.seq() + 1;
  EXPECT_EQ(reader_.writers(), 2U);
  EXPECT_EQ(take(copy), Verdict::copied);
  read_up_to(LogReader::kWindow + 1, 'b');
  EXPECT_EQ(reader_.writers(), 1U) << "it is forgotten";
  for (const std::uint64_t seq : {std::uint64_t{1}, std::uint64_t{2}, reader_.seq() + 1}) {
    copy.seq = seq;
    EXPECT_EQ(take(copy), Verdict::copied) << seq;
  }
  EXPECT_EQ(take(entry('a', 2, reader_.seq() + 1)), Verdict::apply) << "it writes again";
}

TEST_F(Reading, an_entry_counts_that_is_as_far_behind_as_the_script_lets_it_be) {
  read_up_to(LogReader::kWindow, 'a');
  Entry slow{.seq = reader_.seq() + 1, .writer = writer('s'), .counter = 1};
  slow.after = slow.seq - LogReader::kWindow;
  slow.tag = key_.tag_of(slow, kGeneration);
  EXPECT_EQ(reader_.judge(slow), Verdict::apply);
  slow.after -= 1;
  slow.tag = key_.tag_of(slow, kGeneration);
  EXPECT_EQ(reader_.judge(slow), Verdict::copied);
}

TEST_F(Reading, the_chain_tells_other_entries_another_order_and_other_outcomes) {
  LogReader same(key_, kGeneration);
  LogReader other_order(key_, kGeneration);
  LogReader other_outcome(key_, kGeneration);
  const std::string beginning = reader_.chain();
  const Entry one = entry('a', 1, 1);
  const Entry two = entry('b', 1, 2);
  Entry one_second = one;
  Entry two_first = two;
  one_second.seq = 2;
  two_first.seq = 1;
  for (LogReader* const reader : {&reader_, &same}) {
    reader->applied(one, "done");
    reader->applied(two, "done");
  }
  other_order.applied(two_first, "done");
  other_order.applied(one_second, "done");
  other_outcome.applied(one, "not done");
  other_outcome.applied(two, "done");
  EXPECT_EQ(reader_.chain(), same.chain());
  EXPECT_NE(reader_.chain(), beginning);
  EXPECT_NE(reader_.chain(), other_order.chain());
  EXPECT_NE(reader_.chain(), other_outcome.chain());
}

TEST_F(Reading, a_digest_is_compared_with_the_chain_of_its_own_place) {
  read_up_to(3, 'a');
  const std::string chain = reader_.chain();
  read_up_to(10, 'a');
  Entry digest = entry('b', 1, 11);
  digest.after = 3;
  EXPECT_FALSE(reader_.differs(digest, chain));
  EXPECT_TRUE(reader_.differs(digest, reader_.chain()));
  digest.after = 12;
  EXPECT_FALSE(reader_.differs(digest, "whatever")) << "that is not known yet";
  read_up_to(4 + LogReader::kChainsKept, 'a');
  digest.after = 3;
  EXPECT_FALSE(reader_.differs(digest, "whatever")) << "nor this any more";
}

// A guard that had no room does not know what came of an entry.
TEST_F(Reading, without_knowing_an_outcome_there_is_no_chain_until_another_one_is_begun) {
  read_up_to(3, 'a');
  const std::string chain = reader_.chain();
  reader_.applied(entry('a', 4, 4), std::nullopt);
  read_up_to(5, 'a');
  EXPECT_EQ(reader_.chain(), "");
  Entry digest = entry('b', 1, 6);
  EXPECT_FALSE(reader_.differs(digest, "whatever"));
  digest.after = 3;
  EXPECT_FALSE(reader_.differs(digest, chain)) << "that one is known";
  EXPECT_TRUE(reader_.differs(digest, "another"));
  EXPECT_EQ(restored(reader_, key_).chain(), "");
  reader_.begin_chain();
  EXPECT_EQ(take(entry('a', 6, 6)), Verdict::apply);
  EXPECT_NE(reader_.chain(), "");
}

TEST_F(Reading, whoever_has_its_state_judges_as_it_does) {
  ASSERT_EQ(take(entry('a', 1, 1)), Verdict::apply);
  read_up_to(LogReader::kWindow, 'b');
  LogReader other = restored(reader_, key_);
  EXPECT_EQ(other.seq(), reader_.seq());
  EXPECT_EQ(other.chain(), reader_.chain());
  EXPECT_EQ(other.last_tag(), reader_.last_tag());
  Entry copy = entry('a', 1, 1);
  copy.seq = other.seq() + 1;
  EXPECT_EQ(take(copy, other), Verdict::copied) << "it knows the writers";
  const Entry next = entry('b', reader_.seq() + 1, reader_.seq() + 1);
  for (LogReader* const reader : {&reader_, &other}) {
    EXPECT_EQ(take(next, *reader), Verdict::apply);
    EXPECT_EQ(reader->writers(), 1U) << "and forgets them at the same place";
  }
  EXPECT_EQ(other.chain(), reader_.chain());
}

TEST_F(Reading, half_a_state_is_none) {
  read_up_to(3, 'a');
  const std::string state = reader_.state();
  for (std::size_t size = 0; size < state.size(); ++size) {
    LogReader other(key_, kGeneration);
    text::LittleEndianCursor bytes(std::string_view(state).substr(0, size));
    EXPECT_FALSE(other.restore(bytes)) << size;
    EXPECT_EQ(other.seq(), 0U);
  }
}

}  // namespace
}  // namespace cuckooguard::filled
