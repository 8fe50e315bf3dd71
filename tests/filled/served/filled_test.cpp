#include "served/filled.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "filled/served/filled_shop.h"

namespace cuckooguard::guard {
namespace {

using filled::Operation;
using testing::ElementsAre;

class FilledTest : public testing::Test {
 protected:
  void create(const std::string& key, std::uint64_t capacity) {
    filled_.filters.apply({.kind = Operation::Kind::create,
                           .filter = key,
                           .shape = {.kind = filled::Kind::cuckoo, .capacity = capacity}});
  }
  const Filled& filled() const { return filled_.filled(); }
  std::vector<std::string> keys(std::size_t most) const {
    std::vector<std::string> all;
    for (const Filled::Shown& each : filled().shown(most)) {
      all.push_back(each.key);
    }
    return all;
  }

  GuardedShop shop_;
  FilledShop filled_{shop_};
};

TEST_F(FilledTest, shows_the_named_ones_and_then_those_that_take_most) {
  create("cf:b", 1000);
  create("cf:large", 100'000);
  create("cf:a", 1000);
  EXPECT_THAT(keys(100), ElementsAre("seen", "ids", "cf:large", "cf:a", "cf:b"));
  EXPECT_THAT(keys(4), ElementsAre("seen", "ids", "cf:large", "cf:a"));
  EXPECT_THAT(keys(1), ElementsAre("seen"));
}

TEST_F(FilledTest, shows_what_each_has_and_of_a_named_one_what_it_will_be) {
  create("ids", 1000);
  filled_.filters.apply({.kind = Operation::Kind::add,
                         .filter = "ids",
                         .shape = {.kind = filled::Kind::cuckoo},
                         .hashes = {filled_.filters.hash("a"), filled_.filters.hash("b")}});
  filled_.filters.apply(
      {.kind = Operation::Kind::expire, .filter = "ids", .until = filled_.wall_time + 1500});
  const std::vector<Filled::Shown> shown = filled().shown(2);
  EXPECT_EQ(shown.at(0).name, "seen");
  EXPECT_EQ(shown.at(0).facts.layers, 0U);
  EXPECT_EQ(shown.at(0).facts.capacity, 1000U);
  EXPECT_EQ(shown.at(0).shape.false_positive_rate, 0.001);
  EXPECT_EQ(shown.at(1).facts.items, 2U);
  EXPECT_EQ(shown.at(1).facts.layers, 1U);
  EXPECT_EQ(shown.at(1).expires_in, std::chrono::milliseconds(1500));
  filled_.wall_time += 10'000;
  EXPECT_EQ(filled().shown(2).at(1).expires_in, std::chrono::milliseconds(0)) << "not below";
}

TEST(FilledCounts, tell_what_became_of_changes_and_not_of_questions) {
  using Kind = Operation::Kind;
  using Status = filled::Outcome::Status;
  using filled::ItemOutcome;
  FilledCounts counts;
  const auto add = [&](Kind kind, filled::Outcome outcome) {
    filled::Change change({.kind = kind});
    change.finish(std::move(outcome));
    counts.add(change);
  };
  add(Kind::add, {.items = {ItemOutcome::done, ItemOutcome::not_done}});
  add(Kind::add, {.items = {ItemOutcome::done, ItemOutcome::no_room}});
  add(Kind::add, {.items = {ItemOutcome::full}});
  add(Kind::create, {.status = Status::no_room});
  add(Kind::create, {.status = Status::exists});
  add(Kind::erase, {.status = Status::not_in_log});
  add(Kind::erase, {.status = Status::unknown});
  add(Kind::count, {.counts = {1}});
  EXPECT_THAT((std::vector{counts.of(0), counts.of(1), counts.of(2), counts.of(3)}),
              ElementsAre(1, 1, 3, 2));
}

}  // namespace
}  // namespace cuckooguard::guard
