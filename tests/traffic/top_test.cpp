#include "traffic/top.h"

#include <map>
#include <random>

#include <gtest/gtest.h>

namespace cuckooguard::traffic {
namespace {

class TopOfNumbers : public testing::Test {
 protected:
  void add(std::uint64_t thing) {
    top_.add(thing * 0x9e3779b97f4a7c15 >> 7U, [thing] { return thing; });
  }
  std::map<std::uint64_t, std::uint32_t> counts() const {
    std::map<std::uint64_t, std::uint32_t> all;
    top_.for_each([&](std::uint64_t /*hash*/, std::uint64_t thing, std::uint32_t count) {
      all[thing] = count;
    });
    return all;
  }

  Top<std::uint64_t> top_;
  std::mt19937_64 random_{7};
};

TEST_F(TopOfNumbers, counts_exactly_what_fits) {
  for (std::uint64_t thing = 1; thing <= 20; ++thing) {
    for (std::uint64_t i = 0; i < thing; ++i) {
      add(thing);
    }
  }
  EXPECT_EQ(counts().size(), 20U);
  EXPECT_EQ(counts()[20], 20U);
}

TEST_F(TopOfNumbers,
       random_things_neither_push_out_a_frequent_one_nor_count_for_more_than_they_are) {
  for (int i = 0; i < 100'000; ++i) {
    add(random_());
    if (i % 20 == 0) {
      add(1);
    }
  }
  auto all = counts();
  EXPECT_LE(all.size(), Top<std::uint64_t>::kSlots);
  EXPECT_GT(all[1], 4900U);
  EXPECT_LE(all[1], 5000U);
  all.erase(1);
  for (const auto& [thing, count] : all) {
    EXPECT_LT(count, 5U) << "nobody has seen it more often";
  }
}

TEST_F(TopOfNumbers, a_thing_that_becomes_frequent_among_others_that_are_gets_in) {
  for (int i = 0; i < 100'000; ++i) {
    add(random_() % 200);
  }
  for (int i = 0; i < 5000; ++i) {
    add(1000);
  }
  EXPECT_EQ(counts()[1000], 5000U);
}

TEST_F(TopOfNumbers, what_does_not_come_again_fades) {
  for (int i = 0; i < 1000; ++i) {
    add(1);
  }
  top_.halve();
  EXPECT_EQ(counts()[1], 500U);
  for (int i = 0; i < 10; ++i) {
    top_.halve();
  }
  EXPECT_TRUE(counts().empty());
}

}  // namespace
}  // namespace cuckooguard::traffic
