// Without a Redis: a test says what one has.
#include "replicated/replica.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace cuckooguard::replicated {
namespace {

using filled::Operation;
using std::chrono::seconds;

const std::string kGeneration = "a generation";

class ReplicaTest : public testing::Test {
 protected:
  ReplicaTest() { replica_.begin(kGeneration); }

  // What Redis has appended: a filter more.
  const filled::Entry& append(const std::string& filter) {
    return append_body(filled::body_of(std::vector{
        Operation{.kind = Operation::Kind::create, .filter = filter, .shape = {.capacity = 10}}}));
  }
  const filled::Entry& append_body(std::string body) {
    const std::uint64_t seq = log_.size() + 1;
    filled::Entry entry{.seq = seq,
                        .writer = std::string(filled::kWriterBytes, 'w'),
                        .counter = seq,
                        .after = seq - 1,
                        .body = std::move(body)};
    entry.tag = key_.tag_of(entry, kGeneration);
    return log_.emplace_back(std::move(entry));
  }

  Replica::Meta meta() const {
    return {.generation = kGeneration,
            .seq = log_.size(),
            .tag = log_.empty() ? "" : log_.back().tag,
            .snapshot_seq = snapshot_seq_,
            .wants_snapshot = wants_snapshot_};
  }
  static std::string id_of(const filled::Entry& entry) { return std::to_string(entry.seq) + "-0"; }

  // Of all that Redis has behind its position.
  std::expected<bool, Failure> round(std::string_view last_tag = {}) {
    now_ += seconds(1);
    if (Done done = replica_.open(meta(), last_tag); !done) {
      return std::unexpected(done.error());
    }
    for (std::size_t i = read_; i < log_.size(); ++i) {
      if (Done done = replica_.take(id_of(log_[i]), log_[i], now_, on_outcomes_); !done) {
        return std::unexpected(done.error());
      }
      read_ = i + 1;
    }
    return replica_.close(now_, true);
  }
  void expect_reread(const std::expected<bool, Failure>& outcome, bool is_trouble) {
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().state, filled::LogState::loading);
    EXPECT_EQ(outcome.error().is_trouble, is_trouble) << outcome.error().why;
    EXPECT_FALSE(replica_.is_loaded());
  }

  LogSettings settings_{.snapshot_entries = 3, .digest_entries = 2};
  filled::LogKey key_{"a key that all guards have"};
  filled::Filters filters_{filter::HashSecret{}};
  std::vector<std::string> troubles_;
  Replica replica_{
      filters_, key_, settings_, [this](const std::string& what) { troubles_.push_back(what); }};
  std::vector<filled::Entry> log_;
  std::size_t read_ = 0;
  std::uint64_t snapshot_seq_ = 0;
  bool wants_snapshot_ = false;
  std::function<void(Replica::Outcomes&)> on_outcomes_;
  Replica::TimePoint now_{seconds(1000)};
};

TEST_F(ReplicaTest, is_current_with_all_that_redis_had) {
  EXPECT_EQ(round(), true);
  append("one");
  append("two");
  EXPECT_EQ(round(), true);
  EXPECT_EQ(filters_.totals().filters, 2U);
  EXPECT_EQ(replica_.position(), "2-0");
  EXPECT_EQ(replica_.applied_id(), "2-0");
}

TEST_F(ReplicaTest, is_not_current_while_there_is_more_to_read_and_reads_again_if_there_is_not) {
  append("one");
  ASSERT_TRUE(replica_.open(meta(), {}));
  EXPECT_EQ(replica_.close(now_, false), false);
  ASSERT_TRUE(replica_.open(meta(), {}));
  expect_reread(replica_.close(now_, true), true);
}

TEST_F(ReplicaTest, gives_outcomes_to_whoever_has_asked) {
  std::vector<filled::Outcome> heard;
  on_outcomes_ = [&](Replica::Outcomes& outcomes) { heard = outcomes; };
  append("one");
  ASSERT_TRUE(round());
  ASSERT_EQ(heard.size(), 1U);
  EXPECT_EQ(heard[0].status, filled::Outcome::Status::done);
}

TEST_F(ReplicaTest, does_not_count_what_nobody_with_the_key_has_written) {
  append("one");
  ASSERT_TRUE(round());
  ASSERT_TRUE(replica_.open(meta(), {}));
  filled::Entry forged = log_.back();
  forged.body += "x";
  ASSERT_TRUE(replica_.take("2-0", forged, now_, nullptr));
  ASSERT_TRUE(replica_.take("3-0", log_.back(), now_, nullptr)) << "a copy";
  EXPECT_EQ(replica_.close(now_, true), true);
  EXPECT_EQ(troubles_.size(), 2U);
  EXPECT_EQ(replica_.position(), "3-0");
  EXPECT_EQ(replica_.applied_id(), "1-0");
}

TEST_F(ReplicaTest, reads_again_when_redis_has_lost_the_end_or_has_another_one) {
  append("one");
  append("two");
  ASSERT_TRUE(round());
  log_.pop_back();
  expect_reread(round(), true);
}

TEST_F(ReplicaTest, reads_again_when_another_entry_has_the_last_number) {
  append("one");
  ASSERT_TRUE(round());
  log_.clear();
  append("another");
  expect_reread(round(), true);
}

TEST_F(ReplicaTest, asks_for_the_last_entry_by_its_id_when_it_may_be_another_redis) {
  append("one");
  ASSERT_TRUE(round());
  EXPECT_EQ(replica_.id_to_prove(), "");
  replica_.doubt();
  EXPECT_EQ(replica_.id_to_prove(), "1-0");
  EXPECT_EQ(round(log_.back().tag), true);
  replica_.doubt();
  expect_reread(round("the tag of another one"), true);
}

TEST_F(ReplicaTest, takes_no_trimmed_entry_for_trouble) {
  append("one");
  ASSERT_TRUE(round());
  replica_.doubt();
  append("two");
  snapshot_seq_ = 2;
  expect_reread(round(), false);
}

TEST_F(ReplicaTest, tells_a_log_that_has_begun_anew) {
  Replica::Meta another = meta();
  another.generation = "another";
  const Done done = replica_.open(another, {});
  ASSERT_FALSE(done);
  EXPECT_TRUE(done.error().has_begun_anew);
  EXPECT_FALSE(done.error().is_trouble);
}

TEST_F(ReplicaTest, says_a_digest_after_so_many_entries_or_so_much_time) {
  append("one");
  ASSERT_TRUE(round());
  EXPECT_FALSE(replica_.digest_due(now_, 0));
  EXPECT_TRUE(replica_.digest_due(now_ + settings_.digest_every + seconds(1), 0));
  append("two");
  append("three");
  ASSERT_TRUE(round());
  const auto digest = replica_.digest_due(now_, 0);
  ASSERT_TRUE(digest);
  EXPECT_FALSE(replica_.digest_due(now_, 0));
  append_body(*digest);
  EXPECT_EQ(round(), true) << "its own says the same";
  EXPECT_EQ(troubles_, std::vector<std::string>());
}

TEST_F(ReplicaTest, reads_again_when_a_digest_differs_but_once_a_minute) {
  ASSERT_TRUE(round());
  append("one");
  append_body(filled::digest_body_of(std::string(filled::kTagBytes, 'x')));
  expect_reread(round(), true);
  replica_.begin(kGeneration);
  read_ = 0;
  EXPECT_EQ(round(), true);
  EXPECT_EQ(troubles_.size(), 1U);
  EXPECT_TRUE(replica_.digest_due(now_, 0)) << "it may be the other one that is wrong";
}

TEST_F(ReplicaTest, wants_a_snapshot_after_so_many_entries_or_when_a_guard_asks) {
  append("one");
  append("two");
  ASSERT_TRUE(round());
  EXPECT_FALSE(replica_.is_snapshot_due());
  wants_snapshot_ = true;
  ASSERT_TRUE(round());
  EXPECT_TRUE(replica_.is_snapshot_due());
  wants_snapshot_ = false;
  append("three");
  ASSERT_TRUE(round());
  EXPECT_TRUE(replica_.is_snapshot_due());
  snapshot_seq_ = 3;
  ASSERT_TRUE(round());
  EXPECT_FALSE(replica_.is_snapshot_due());
}

TEST_F(ReplicaTest, takes_a_snapshot_only_with_its_tag) {
  append("one");
  ASSERT_TRUE(round());
  std::string content = replica_.reader().state();
  const auto image = filters_.image();
  while (image->step(content)) {
  }
  SnapshotLine line{.seq = 1, .id = "1-0", .bytes = content.size()};
  filled::Mac mac = line.begin_tag(key_, kGeneration);
  mac.add(content);
  line.tag = mac.finish();
  EXPECT_EQ(SnapshotLine::read(line.text())->tag, line.tag);
  EXPECT_FALSE(replica_.restore(kGeneration, line, content, "another"));
  EXPECT_EQ(troubles_.size(), 1U);
  replica_.forget();
  ASSERT_TRUE(replica_.restore(kGeneration, line, content, line.tag));
  EXPECT_EQ(filters_.totals().filters, 1U);
  EXPECT_EQ(replica_.reader().seq(), 1U);
  EXPECT_EQ(round(), true);
}

}  // namespace
}  // namespace cuckooguard::replicated
