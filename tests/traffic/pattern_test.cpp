#include "traffic/pattern.h"

#include <array>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace cuckooguard::traffic {
namespace {

constexpr std::size_t kPrefix = std::string_view("user:").size();

class PatternTest : public testing::Test {
 protected:
  void read(const std::string& value,
            std::optional<std::uint64_t> number,
            unsigned char client = 1) {
    reads_.push_back(
        {.number = number,
         .from = text::Network::of_ipv4(std::array<unsigned char, 4>{10, 0, 0, client}),
         .key = KeyText("user:" + value)});
  }
  void read(std::uint64_t id, unsigned char client = 1) { read(std::to_string(id), id, client); }
  Pattern pattern(double few = 0.1) const { return pattern_of(reads_, few, kPrefix); }

  std::vector<AbsentRead> reads_;
  std::mt19937_64 random_{7};
};

TEST_F(PatternTest, random_ids_are_random) {
  for (int i = 0; i < 100; ++i) {
    read(random_() % 1'000'000'000);
  }
  EXPECT_EQ(pattern(), Pattern::random);
}

TEST_F(PatternTest, few_reads_have_none) {
  for (std::size_t i = 0; i + 1 < kLeast; ++i) {
    read(i);
  }
  EXPECT_EQ(pattern(), Pattern::few_reads);
}

TEST_F(PatternTest, few_keys_are_told_by_their_share) {
  for (std::uint64_t i = 0; i < 100; ++i) {
    read(i);
  }
  EXPECT_EQ(pattern(0.6), Pattern::few_keys);
}

TEST_F(PatternTest, ids_that_each_client_counts_up_are_ascending) {
  for (std::uint64_t i = 0; i < 50; ++i) {
    read(1'000'000 + 16 * i + random_() % 16, 1);
    read(5'000 + 16 * i, 2);
  }
  EXPECT_EQ(pattern(), Pattern::ascending);
}

TEST_F(PatternTest, one_prefix_is_more_than_all_keys_have) {
  for (int i = 0; i < 100; ++i) {
    const std::string word = std::to_string(random_());
    read(i % 10 == 0 ? word : "admin" + word, std::nullopt);
  }
  EXPECT_EQ(pattern(), Pattern::one_prefix);
}

TEST_F(PatternTest, keys_that_come_again_and_again_without_being_few_are_mixed) {
  for (int i = 0; i < 100; ++i) {
    read(random_() % 60 * 7'777'777);
  }
  EXPECT_EQ(pattern(), Pattern::mixed);
}

TEST(KeyText, keeps_the_front_of_a_long_key) {
  EXPECT_EQ(KeyText("user:1").view(), "user:1");
  EXPECT_EQ(KeyText(std::string(1000, 'a')).view(), std::string(KeyText::kBytes, 'a'));
}

}  // namespace
}  // namespace cuckooguard::traffic
