#include "source/feeds.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "source/bench.h"

namespace cuckooguard::source {
namespace {

using filter::State;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

using Tables = std::vector<std::string>;

Tables parts_of(Bench& bench) {
  Tables names;
  const filter::EpochScope inside(bench.epochs.reader(0));
  bench.parts[0].for_each(
      [&names](std::string_view name, const filter::LiveFilter&) { names.emplace_back(name); });
  return names;
}

void load(Feeds& feeds, Bench& bench, std::uint64_t rows = 1) {
  for (Feed& feed : feeds) {
    ASSERT_EQ(feed.begin(rows), Feed::Intake::taken);
    ASSERT_EQ(feed.complete(), Feed::Intake::taken);
  }
  for (Feed& feed : feeds) {
    feed.prove(bench.clock.now());
  }
}

TEST(Feeds, a_namespace_of_one_table_has_its_feed_from_the_start) {
  Bench bench;
  Feeds feeds = bench.feeds();
  EXPECT_THAT(feeds, SizeIs(1));
  EXPECT_EQ(feeds.front().table(), "users");
  load(feeds, bench);
  EXPECT_TRUE(bench.is_fresh());
  EXPECT_EQ(bench.witness.last().ns, "users");
}

TEST(Feeds, a_list_of_names_has_a_feed_for_each_and_reports_name_the_table) {
  Bench bench({{.tables = {"users", "archive"}}});
  Feeds feeds = bench.feeds();
  EXPECT_THAT(parts_of(bench), ElementsAre("users", "archive"));
  load(feeds, bench);
  EXPECT_TRUE(bench.is_fresh());
  EXPECT_TRUE(bench.witness.wait_for("users/users", State::ready));
  EXPECT_TRUE(bench.witness.wait_for("users/archive", State::ready));
  EXPECT_EQ(bench.witness.progress().back().ns, "users/archive");
}

TEST(Feeds, with_a_pattern_everything_passes_until_its_tables_are_known) {
  Bench bench({{.tables = {"users", "user_*"}}});
  Feeds feeds = bench.feeds();
  load(feeds, bench);
  EXPECT_FALSE(bench.is_fresh());
  feeds.set_tables(feeds.targets().front(), Tables{"users"});
  EXPECT_TRUE(bench.is_fresh());
}

TEST(Feeds, a_table_that_joins_passes_until_it_is_loaded_and_one_that_goes_is_forgotten) {
  Bench bench({{.tables = {"user_*"}}});
  Feeds feeds = bench.feeds();
  const Target target = feeds.targets().front();
  feeds.set_tables(target, Tables{"user_1", "user_2"});
  load(feeds, bench);
  EXPECT_TRUE(bench.is_fresh());
  feeds.set_tables(target, Tables{"user_2", "user_3"});
  EXPECT_THAT(parts_of(bench), ElementsAre("user_2", "user_3"));
  EXPECT_THAT(feeds, SizeIs(2));
  EXPECT_FALSE(bench.is_fresh());
  load(feeds, bench);
  EXPECT_TRUE(bench.is_fresh());
}

TEST(Feeds, without_any_table_a_namespace_passes_and_says_so_once) {
  Bench bench({{.tables = {"user_*"}}});
  Feeds feeds = bench.feeds();
  const Target target = feeds.targets().front();
  feeds.set_tables(target, Tables{});
  feeds.set_tables(target, Tables{});
  EXPECT_FALSE(bench.is_fresh());
  EXPECT_THAT(bench.witness.reports(), SizeIs(1));
  EXPECT_THAT(bench.witness.last().why, HasSubstr("no table matches"));
  feeds.set_tables(target, Tables{"user_1"});
  EXPECT_EQ(bench.witness.last_of("users").state, State::loading);
}

TEST(Feeds, with_more_tables_than_the_limit_a_namespace_passes_and_says_so) {
  Bench bench({{.tables = {"user_*"}}});
  Feeds feeds = bench.feeds();
  const Target target = feeds.targets().front();
  Tables tables;
  for (std::size_t i = 0; i <= filter::LiveParts::kPartsMax; ++i) {
    tables.push_back("user_" + std::to_string(i));
  }
  feeds.set_tables(target, tables);
  load(feeds, bench);
  EXPECT_FALSE(bench.is_fresh());
  EXPECT_THAT(bench.witness.last_of("users").why, HasSubstr("the maximum is 1024"));
  tables.pop_back();
  feeds.set_tables(target, tables);
  EXPECT_TRUE(bench.is_fresh());
}

TEST(Feeds, namespaces_keep_their_own_tables) {
  Bench bench({{.tables = {"t_*"}}, {.name = "orders", .keys = {"order:{id}"}, .tables = {"t_*"}}});
  Feeds feeds = bench.feeds();
  feeds.set_tables(feeds.targets()[0], Tables{"t_1"});
  feeds.set_tables(feeds.targets()[1], Tables{"t_1", "t_2"});
  feeds.set_tables(feeds.targets()[0], Tables{});
  EXPECT_EQ(bench.parts[0].size(), 0U);
  EXPECT_EQ(bench.parts[1].size(), 2U);
  EXPECT_THAT(feeds, SizeIs(2));
}

// A key that is absent is asked of every table: their false positives add up.
TEST(Feeds, several_tables_share_the_false_positive_rate_and_a_configured_capacity) {
  Bench bench({{.tables = {"user_*"}}});
  bench.namespaces[0].filter = {.false_positive_rate = 0.01, .capacity = 800'000};
  Feeds feeds = bench.feeds();
  const Target target = feeds.targets().front();
  const auto sizing = [&](const Tables& tables) {
    feeds.set_tables(target, tables);
    load(feeds, bench);
    return feeds.front().live().writable()->sizing();
  };
  const filter::Sizing one = sizing({"a"});
  const filter::Sizing eight = sizing({"a", "b", "c", "d", "e", "f", "g", "h"});
  const auto rate = [](const filter::Sizing& of) {
    return filter::predicted_false_positive_rate(of.layout, of.load);
  };
  EXPECT_LE(rate(one), 0.01);
  EXPECT_LE(8 * rate(eight), 0.01);
  EXPECT_GE(one.capacity(), 800'000U);
  EXPECT_GE(eight.capacity(), 100'000U);
  EXPECT_LT(eight.capacity(), 200'000U);
}

}  // namespace
}  // namespace cuckooguard::source
