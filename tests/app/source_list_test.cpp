#include "app/source_list.h"

#include <gtest/gtest.h>

namespace cuckooguard::app {
namespace {

using std::chrono::seconds;

class ToldSource final : public source::Source {
 public:
  void start() override {}
  void stop() override {}
  source::SourceStatus status() const override { return told; }
  source::Reached reached(std::string_view position) const override {
    return position == "0-1-75" ? answer : source::Reached::not_a_position;
  }

  source::RowAnswer look_up_row(std::uint32_t ns,
                                std::string_view identity,
                                const std::stop_token& /*stop*/) override {
    looked_up += std::to_string(ns) + ":" + std::string(identity) + " ";
    return {.presence = source::RowPresence::absent};
  }

  std::string looked_up;
  source::SourceStatus told;
  source::Reached answer = source::Reached::not_yet;
};

TEST(SourceList, tells_the_guard_what_each_source_says_of_itself) {
  ToldSource files;
  ToldSource shop;
  shop.told = {.state = filter::SourceState::down,
               .why = "gone",
               .position = "0-1-75",
               .proven_at = source::TimePoint(seconds(5)),
               .losses = 3};
  SourceList list;
  list.add("files", "file", files);
  list.add("shop", "mysql", shop);
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list.name(0), "files");
  EXPECT_EQ(list.name(1), "shop");
  EXPECT_EQ(list.status(0).type, "file");
  EXPECT_EQ(list.status(0).state, filter::SourceState::loading);
  const guard::SourceStatus told = list.status(1);
  EXPECT_EQ(told.type, "mysql");
  EXPECT_EQ(told.state, filter::SourceState::down);
  EXPECT_EQ(told.why, "gone");
  EXPECT_EQ(told.position, "0-1-75");
  EXPECT_EQ(told.proven_at, guard::TimePoint(seconds(5)));
  EXPECT_EQ(told.losses, 3U);
}

TEST(SourceList, looks_rows_up_for_followers_only_if_they_define_the_namespace_as_it_is_published) {
  ToldSource shop;
  SourceList list;
  list.feeds(0, shop, 4);
  list.feeds(1, shop, 7, "123");
  EXPECT_EQ(list.look_up_published(1, "123", "id", {}).presence, source::RowPresence::absent);
  for (const auto& [ns, definition] :
       {std::pair(0, ""), std::pair(0, "123"), std::pair(1, ""), std::pair(1, "124"), {2, "123"}}) {
    const auto answer =
        list.look_up_published(static_cast<std::uint32_t>(ns), definition, "id", {});
    EXPECT_EQ(answer.presence, source::RowPresence::unknown) << ns << definition;
    EXPECT_FALSE(answer.why.empty());
  }
  EXPECT_EQ(shop.looked_up, "7:id ");
}

TEST(SourceList, shows_what_a_publication_says_behind_what_its_source_says) {
  class Told final : public source::Publication {
   public:
    void show(std::vector<filter::SourceFact>& facts) const override {
      facts.push_back({.name = "told", .value = std::uint64_t{1}});
    }
  };
  ToldSource shop;
  shop.told.more = {{.name = "own", .value = std::uint64_t{2}}};
  const Told told;
  SourceList list;
  list.add("shop", "mysql", shop, told);
  const auto all = list.status(0).more;
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].name, "own");
  EXPECT_EQ(all[1].name, "told");
}

TEST(SourceList, tells_of_several_the_gravest_and_a_remark_of_any) {
  ToldSource first;
  ToldSource second;
  SourceList list;
  list.add("shop", "postgres", first);
  list.add("shop", "postgres", second);
  first.told = {.state = filter::SourceState::following,
                .flush_transactions = 5,
                .flush_transactions_per_hour = 2};
  second.told = {.state = filter::SourceState::following,
                 .why = "a right is missing",
                 .flush_transactions = 7,
                 .flush_transactions_per_hour = 3};
  EXPECT_EQ(list.status(0).why, "a right is missing");
  EXPECT_EQ(list.status(0).flush_transactions, 12U);
  EXPECT_EQ(list.status(0).flush_transactions_per_hour, 5U);
  first.told = {.state = filter::SourceState::down, .why = "gone"};
  EXPECT_EQ(list.status(0).state, filter::SourceState::down);
  EXPECT_EQ(list.status(0).why, "gone");
}

TEST(SourceList, asks_the_source_that_is_named_how_far_it_is) {
  ToldSource first;
  ToldSource second;
  SourceList list;
  list.add("first", "sqlite", first);
  list.add("second", "mysql", second);
  first.answer = source::Reached::not_followed;
  second.answer = source::Reached::yes;
  EXPECT_EQ(list.reached(0, "0-1-75"), guard::Reached::not_followed);
  EXPECT_EQ(list.reached(1, "0-1-75"), guard::Reached::yes);
  EXPECT_EQ(list.reached(1, "other"), guard::Reached::not_a_position);
  second.answer = source::Reached::not_yet;
  EXPECT_EQ(list.reached(1, "0-1-75"), guard::Reached::not_yet);
}

}  // namespace
}  // namespace cuckooguard::app
