// With time, filter and source as the test says: what is said of a contradiction, and when.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "app/assembly.h"

namespace cuckooguard::app {
namespace {

using filter::Finding;
using guard::Cause;
using source::RowPresence;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kMaxLag{500};

keyspace::Keyspace users() {
  std::vector<keyspace::KeyTemplate> templates;
  templates.push_back(keyspace::KeyTemplate::parse("user:{id:uint64}").value());
  std::vector<keyspace::NamespaceTemplates> namespaces;
  namespaces.push_back({"users", std::move(templates), true});
  return keyspace::Keyspace::build(std::move(namespaces)).value();
}

class ContradictionCheckerTest : public testing::Test {
 protected:
  void contradict(const std::string& id) { contradictions_.add(0, "user:" + id); }
  // As the thread does, for so long.
  void run_for(std::chrono::nanoseconds time) {
    for (const auto until = now_ + time; now_ < until; now_ += milliseconds(100)) {
      checker_.step();
    }
  }
  std::uint64_t found(Cause cause) const { return contradictions_.counts(0).of(cause); }
  std::uint64_t open() const { return contradictions_.counts(0).open; }

  keyspace::Keyspace keyspace_ = users();
  guard::Contradictions contradictions_{1};
  ContradictionChecker::TimePoint now_{std::chrono::hours(5)};
  std::map<std::string, RowPresence, std::less<>> rows_;
  std::map<std::string, Finding, std::less<>> findings_;  // others: absent
  std::chrono::nanoseconds answer_takes_{0};
  std::vector<ContradictionChecker::TimePoint> asked_at_;
  std::vector<std::string> asked_;
  ContradictionChecker checker_{
      {.contradictions = contradictions_,
       .keyspace = keyspace_,
       .clock = [this] { return now_; },
       .look_up =
           [this](std::uint32_t, const keyspace::Lookup& key) {
             const auto finding = findings_.find(key.identity);
             return finding == findings_.end() ? Finding::absent : finding->second;
           },
       .ask =
           [this](std::uint32_t, std::string_view identity) {
             asked_at_.push_back(now_);
             asked_.emplace_back(identity);
             now_ += answer_takes_;
             const auto row = rows_.find(identity);
             return row == rows_.end() ? RowPresence::absent : row->second;
           },
       .max_lag = [](std::uint32_t) { return kMaxLag; },
       .told = [](const guard::Contradictions::Key&, Cause) {}}};
};

TEST_F(ContradictionCheckerTest, a_key_without_a_row_is_a_hidden_value) {
  contradict("500");
  checker_.step();
  EXPECT_EQ(found(Cause::hidden_value), 1U);
  EXPECT_EQ(open(), 0U);
}

TEST_F(ContradictionCheckerTest, a_row_that_the_filter_still_lacks_after_max_lag_is_hidden) {
  rows_["500"] = RowPresence::present;
  contradict("500");
  run_for(seconds(3));
  EXPECT_EQ(found(Cause::hidden_row), 1U);
  EXPECT_EQ(asked_.size(), 2U) << "it is asked whether the row is still there";
}

// The filter may lag so far: until then it is no proof.
TEST_F(ContradictionCheckerTest, nothing_is_said_before_max_lag_has_passed_since_the_answer) {
  rows_["500"] = RowPresence::present;
  answer_takes_ = seconds(4);
  contradict("500");
  checker_.step();  // asked at 0, answered at 4 s
  now_ += kMaxLag - milliseconds(1);
  findings_["500"] = Finding::absent;
  checker_.step();
  EXPECT_EQ(asked_.size(), 1U);
  findings_["500"] = Finding::may_exist;
  now_ += milliseconds(1);
  checker_.step();
  EXPECT_EQ(found(Cause::late_row), 1U);
  EXPECT_EQ(found(Cause::hidden_row), 0U);
}

TEST_F(ContradictionCheckerTest,
       a_row_of_which_the_filter_has_heard_by_now_is_late_and_no_question) {
  for (const Finding finding : {Finding::may_exist, Finding::fresh_id}) {
    contradictions_.forget();
    findings_["500"] = finding;
    contradict("500");
    checker_.step();
  }
  EXPECT_EQ(found(Cause::late_row), 2U);
  EXPECT_TRUE(asked_.empty());
}

TEST_F(ContradictionCheckerTest, a_row_that_is_gone_when_it_is_asked_for_again_was_not_hidden) {
  rows_["500"] = RowPresence::present;
  contradict("500");
  checker_.step();
  rows_["500"] = RowPresence::absent;
  run_for(seconds(3));
  EXPECT_EQ(found(Cause::late_row), 1U);
  EXPECT_EQ(found(Cause::hidden_row), 0U);
}

TEST_F(ContradictionCheckerTest, a_filter_that_is_not_fresh_proves_nothing_and_is_waited_for) {
  rows_["500"] = RowPresence::present;
  contradict("500");
  checker_.step();
  findings_["500"] = Finding::not_fresh;
  run_for(ContradictionChecker::kFilterPatience / 2);
  EXPECT_EQ(open(), 1U);
  findings_["500"] = Finding::absent;
  run_for(seconds(2));
  EXPECT_EQ(found(Cause::hidden_row), 1U);
  contradict("600");
  rows_["600"] = RowPresence::present;
  run_for(milliseconds(100));
  findings_["600"] = Finding::not_fresh;
  run_for(ContradictionChecker::kFilterPatience + seconds(3));
  EXPECT_EQ(found(Cause::unknown), 1U) << "but not for ever";
}

TEST_F(ContradictionCheckerTest, the_source_is_asked_once_per_second_at_most) {
  for (int id = 500; id < 600; ++id) {
    rows_[std::to_string(id)] = id % 2 == 0 ? RowPresence::present : RowPresence::absent;
    contradict(std::to_string(id));
  }
  answer_takes_ = milliseconds(300);
  run_for(seconds(200));
  EXPECT_GT(asked_at_.size(), 120U);
  for (std::size_t i = 1; i < asked_at_.size(); ++i) {
    ASSERT_GE(asked_at_[i] - asked_at_[i - 1], ContradictionChecker::kAskEvery);
  }
  EXPECT_EQ(found(Cause::hidden_row), 50U);
  EXPECT_EQ(found(Cause::hidden_value), 50U);
}

TEST_F(ContradictionCheckerTest,
       a_source_that_cannot_be_asked_is_asked_again_and_others_come_first) {
  rows_["500"] = RowPresence::unknown;
  contradict("500");
  contradict("600");
  run_for(seconds(2));
  EXPECT_EQ(found(Cause::unknown), 0U);
  run_for(seconds(10));
  EXPECT_EQ(found(Cause::unknown), 1U);
  EXPECT_EQ(found(Cause::hidden_value), 1U);
  EXPECT_EQ(std::ranges::count(asked_, "500"), ContradictionChecker::kAttemptsMax);
}

TEST_F(ContradictionCheckerTest, a_key_that_no_row_can_have_needs_no_question) {
  contradictions_.add(0, "user:007");
  checker_.step();
  EXPECT_EQ(found(Cause::hidden_value), 1U);
  EXPECT_TRUE(asked_.empty());
}

TEST_F(ContradictionCheckerTest, a_key_that_was_explained_can_be_reported_again_after_a_while) {
  contradict("500");
  run_for(seconds(2));
  contradict("500");
  run_for(seconds(2));
  EXPECT_EQ(asked_.size(), 1U);
  now_ += ContradictionChecker::kForgetEvery;
  checker_.step();
  contradict("500");
  run_for(seconds(2));
  EXPECT_EQ(asked_.size(), 2U);
}

}  // namespace
}  // namespace cuckooguard::app
