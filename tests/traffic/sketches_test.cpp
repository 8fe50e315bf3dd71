#include "traffic/sketches.h"

#include <array>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace cuckooguard::traffic {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using Kind = Sketches::Kind;

class SketchesTest : public testing::Test {
 protected:
  void read(const std::string& key,
            bool is_absent,
            std::size_t worker = 0,
            unsigned char client = 1) {
    sketches_.saw({.key = key,
                   .number = std::nullopt,
                   .is_absent = is_absent,
                   .from = text::Network::of_ipv4(std::array<unsigned char, 4>{10, 0, 0, client})},
                  worker,
                  now_);
  }

  Sketches::TimePoint now_{std::chrono::hours(100)};
  Sketches sketches_{2, filter::HashSecret{}};
};

TEST_F(SketchesTest, workers_are_added_up) {
  for (int i = 0; i < 300; ++i) {
    read("user:1", false, static_cast<std::size_t>(i % 2));
    read("user:" + std::to_string(i), i % 3 == 0);
    now_ += milliseconds(100);
  }
  const Ranking read = sketches_.keys(Kind::read, now_);
  ASSERT_EQ(read.rows.size(), Sketches::kRows);
  EXPECT_EQ(read.rows.front().key.view(), "user:1");
  EXPECT_NEAR(read.rows.front().share, 0.5, 0.05);
  EXPECT_NEAR(read.per_second, 20 * Sketches::kEvery, 20);
  EXPECT_NEAR(read.rows.front().per_second, 10 * Sketches::kEvery, 20);
  const Ranking absent = sketches_.clients(Kind::absent, now_);
  ASSERT_EQ(absent.rows.size(), 1U);
  EXPECT_EQ(absent.rows.front().share, 1);
  EXPECT_NEAR(absent.per_second, 10 * Sketches::kEvery / 3.0, 10);
}

TEST_F(SketchesTest, rates_are_those_of_the_last_minutes) {
  for (int i = 0; i < 6000; ++i) {
    read("user:1", true);
    now_ += milliseconds(100);
  }
  EXPECT_NEAR(sketches_.keys(Kind::absent, now_).per_second, 10 * Sketches::kEvery, 20);
  now_ += minutes(3);
  EXPECT_LT(sketches_.keys(Kind::absent, now_).per_second, 3 * Sketches::kEvery);
  now_ += minutes(60);
  EXPECT_LT(sketches_.keys(Kind::absent, now_).per_second, 1e-6);
  EXPECT_TRUE(sketches_.keys(Kind::absent, now_).rows.empty());
}

TEST_F(SketchesTest, one_client_that_reads_random_keys_hides_no_other_one) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 60'000; ++i) {
    read("user:" + std::to_string(random()), true, 0, 1);
    if (i % 30 == 0) {
      read("user:7", true, 0, 2);
    }
    now_ += milliseconds(1);
  }
  const Ranking keys = sketches_.keys(Kind::absent, now_);
  EXPECT_EQ(keys.rows.front().key.view(), "user:7");
  EXPECT_NEAR(keys.rows.front().share, 1 / 31.0, 0.01);
  EXPECT_LT(keys.rows.at(1).share, 0.001);
  const Ranking clients = sketches_.clients(Kind::absent, now_);
  ASSERT_EQ(clients.rows.size(), 2U);
  EXPECT_EQ(clients.rows.front().from.text(), "10.0.0.1");
  EXPECT_EQ(sketches_.pattern(5, now_), Pattern::random);
}

TEST_F(SketchesTest, the_pattern_is_that_of_the_last_minute) {
  for (int i = 0; i < 1000; ++i) {
    read("user:" + std::to_string(i * 7919 % 100'003), true);
  }
  EXPECT_EQ(sketches_.pattern(5, now_), Pattern::random);
  now_ += kWindow;
  EXPECT_EQ(sketches_.pattern(5, now_), Pattern::few_reads);
}

TEST_F(SketchesTest, nothing_has_been_seen) {
  EXPECT_TRUE(sketches_.clients(Kind::read, now_).rows.empty());
  EXPECT_EQ(sketches_.keys(Kind::read, now_).share(), 0);
  EXPECT_EQ(sketches_.pattern(5, now_), Pattern::few_reads);
  EXPECT_FALSE(sketches_.expiring(now_));
}

}  // namespace
}  // namespace cuckooguard::traffic
