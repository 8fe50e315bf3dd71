#include "postgres/log.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "filter/filter_file.h"
#include "postgres/log_applier.h"
#include "source/bench.h"
#include "source/postgres/made_log.h"

namespace cuckooguard::source::postgres {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<Xid> unseen_in(const LogGroup& group) {
  const auto parsed = LogGroup::parse(group.text());
  EXPECT_TRUE(parsed);
  EXPECT_TRUE(parsed && parsed->is_same_as(group));
  return parsed ? parsed->unseen : std::vector<Xid>();
}

TEST(PostgresPosition, is_a_place_in_the_log_as_the_server_writes_it) {
  const LogPosition position({0x16'b374d848});
  EXPECT_EQ(position.text(), "16/B374D848");
  EXPECT_EQ(LogPosition::parse("16/B374D848", std::nullopt), position);
  for (const char* const text : {"", "16", "16/", "/16", "16/B374D848 ", "0-1-2", "g/1"}) {
    EXPECT_FALSE(LogPosition::parse(text, std::nullopt)) << text;
  }
  EXPECT_TRUE(position.covers(CommitId{position.lsn()}));
  EXPECT_FALSE(position.covers(CommitId{{position.lsn().value + 1}}));
}

TEST(PostgresGroup, has_what_nobody_had_seen) {
  EXPECT_THAT(unseen_in({.last = {{7}}, .unseen = {}}), IsEmpty());
  EXPECT_THAT(unseen_in({.last = {{7}}, .unseen = {9, 5, 6, 1ULL << 40U}}),
              ElementsAre(5, 6, 9, 1ULL << 40U));
  EXPECT_EQ((LogGroup{.last = {{7}}, .unseen = {9, 5, 6}}).text(), "0/7 0/0 0 0 5-6 9");
  const LogGroup whole{
      .last = {{9}}, .unseen = {5}, .commit = {.lsn = {7}, .time = {-3}, .xid = 5}};
  EXPECT_EQ(whole.text(), "0/9 0/7 -3 5 5");
}

// A place and a number come again in a copy of the server that was taken earlier.
TEST(PostgresGroup, is_of_one_moment) {
  const LogGroup group{.last = {{9}}, .unseen = {}, .commit = {.lsn = {7}, .time = {3}}};
  LogGroup other = group;
  EXPECT_TRUE(group.is_same_as(other));
  other.commit.time.microseconds = 4;
  EXPECT_FALSE(group.is_same_as(other));
}

TEST(PostgresGroup, is_never_too_long_and_never_lacks_one) {
  LogGroup group{.last = {{7}}, .unseen = {}};
  for (Xid xid = 1ULL << 50U; group.unseen.size() < 10'000; xid += 2 + xid % 7) {
    group.unseen.push_back(xid);
  }
  EXPECT_LE(group.text().size(), LogGroup::kTextMax);
  EXPECT_TRUE(std::ranges::includes(unseen_in(group), group.unseen));
}

TEST(PostgresGroup, is_no_other_text) {
  for (const char* const text : {"",
                                 "7",
                                 "0/7",
                                 "0/7 5-6",
                                 "0/7 0/6",
                                 "0/7 0/6 1",
                                 "0/7 0/6 x 1",
                                 "0/7 0/6 1 -1",
                                 "0/7  0/6 1 1"}) {
    EXPECT_FALSE(LogGroup::parse(text)) << text;
  }
  for (const char* const unseen : {" ",
                                   " x",
                                   " 5-",
                                   " -5",
                                   " 6-5",
                                   "  5",
                                   " 5,6",
                                   " 5 ",
                                   " 1-4000001",
                                   " 1-3000000 1-3000000",
                                   " 0-18446744073709551615"}) {
    EXPECT_FALSE(LogGroup::parse(std::string("0/7 0/6 1 1") + unseen)) << unseen;
  }
}

TEST(PostgresLog, resumes_from_what_it_has_written) {
  const std::string text = Log::resume_text(
      LogPosition({400}),
      {.last = {{300}}, .unseen = {5, 6}, .commit = {.lsn = {299}, .time = {1}, .xid = 7}});
  EXPECT_EQ(text, "postgres\n0/12C\n0/12C 0/12B 1 7 5-6");
  const std::vector<std::string> lines{"postgres", "0/12C", "0/12C 0/12B 1 7 5-6"};
  const auto resumed = Log::parse_resume(lines);
  ASSERT_TRUE(resumed);
  EXPECT_EQ(resumed->first, LogPosition({300}));
  EXPECT_THAT(resumed->second.unseen, ElementsAre(5, 6));
  for (std::size_t line = 0; line < lines.size(); ++line) {
    auto other = lines;
    other[line] = "mysql";
    EXPECT_FALSE(Log::parse_resume(other)) << line;
  }
}

// Each of these is a table that a filter of before is not of.
TEST(PostgresLog, a_definition_is_another_if_rows_may_be_others) {
  Bench bench;
  const Target target = bench.targets()[0];
  const auto hash = [&](const auto& change) {
    TablePlan plan = planned();
    change(plan);
    return Log::definition_hash(target, plan);
  };
  const auto as_it_is = hash([](TablePlan&) {});
  EXPECT_EQ(as_it_is, hash([](TablePlan&) {}));
  const std::vector<std::uint64_t> others{
      hash([](TablePlan& plan) { plan.schema = "other"; }),
      hash([](TablePlan& plan) { plan.name = "other"; }),
      hash([](TablePlan& plan) { plan.oid = 1; }),
      hash([](TablePlan& plan) { plan.columns[1].type_name = "citext"; }),
      hash([](TablePlan& plan) { plan.columns[1].is_deterministic = false; }),
      hash([](TablePlan& plan) { plan.identity = {1}; }),
      hash([](TablePlan& plan) { plan.primary_key = {1}; }),
      hash([](TablePlan& plan) { plan.has_full_rows = true; }),
      hash([](TablePlan& plan) { plan.fingerprint = "rewritten"; }),
      hash([](TablePlan& plan) {
        plan.condition = keyspace::RowCondition::parse("name IS NULL").value();
      })};
  for (std::size_t i = 0; i < others.size(); ++i) {
    EXPECT_NE(others[i], as_it_is) << i;
  }
}

}  // namespace
}  // namespace cuckooguard::source::postgres
