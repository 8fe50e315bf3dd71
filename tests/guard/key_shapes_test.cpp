#include "guard/key_shapes.h"

#include <map>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace cuckooguard::guard {
namespace {

std::map<std::string, std::uint64_t> all_of(const KeyShapes& shapes) {
  std::map<std::string, std::uint64_t> all;
  shapes.for_each(
      [&all](std::string_view shape, std::uint64_t reads) { all[std::string(shape)] += reads; });
  return all;
}

TEST(KeyShapes,
     are_letters_and_the_separator_behind_them_and_never_what_tells_one_key_from_another) {
  EXPECT_EQ(shape_of("user:42"), "user:");
  EXPECT_EQ(shape_of("user:profile:42"), "user:");
  EXPECT_EQ(shape_of("cart/7"), "cart/");
  EXPECT_EQ(shape_of("user42"), "user");
  EXPECT_EQ(shape_of("user_profile:42"), "user_");
  for (const std::string_view none : {"",
                                      "token",
                                      "42",
                                      ":user",
                                      "ada@example.org",
                                      "user name",
                                      "us\xc3\xa9r:1",
                                      "thisisaverylongwordwithoutanend:1"}) {
    EXPECT_EQ(shape_of(none), "") << none;
  }
}

TEST(KeyShapes, of_the_first_reads_are_counted_and_of_many_more_estimated) {
  KeyShapes shapes;
  for (std::uint64_t number = 1; number <= KeyShapes::kAllUpTo; ++number) {
    shapes.see(number, number % 4 == 0 ? "item:1" : "user:1");
  }
  EXPECT_EQ(all_of(shapes), (std::map<std::string, std::uint64_t>{{"item:", 16}, {"user:", 48}}));
  constexpr std::uint64_t kReads = 200'000;
  for (std::uint64_t number = KeyShapes::kAllUpTo + 1; number <= kReads; ++number) {
    shapes.see(number, number % 4 == 0 ? "item:1" : "user:1");
  }
  EXPECT_NEAR(static_cast<double>(all_of(shapes)["item:"]), kReads / 4.0, kReads / 40.0);
  EXPECT_NEAR(static_cast<double>(all_of(shapes)["user:"]), kReads * 3 / 4.0, kReads / 40.0);
  shapes.clear();
  EXPECT_TRUE(all_of(shapes).empty());
}

// Neither what was common before nor what somebody makes up, each another, keeps it out.
TEST(KeyShapes, that_are_common_are_found_whatever_else_comes) {
  KeyShapes shapes;
  const auto made_up = [](std::uint64_t number) {
    std::string key;
    for (std::uint64_t rest = number; rest > 0; rest /= 26) {
      key += static_cast<char>('a' + rest % 26);
    }
    return key + ":1";
  };
  std::uint64_t number = 1;
  for (; number <= 10'000 * KeyShapes::kShapesMax; ++number) {
    shapes.see(number, std::string(2, static_cast<char>('a' + number % 16)) + ":1");
  }
  const std::uint64_t begin = number;
  for (; number < begin + 200'000; ++number) {
    shapes.see(number, number % 2 == 0 ? "user:1" : made_up(number));
  }
  const auto all = all_of(shapes);
  EXPECT_LE(all.size(), KeyShapes::kShapesMax);
  ASSERT_TRUE(all.contains("user:"));
  EXPECT_GT(all.at("user:"), 50'000U);
  EXPECT_LT(all.at("user:"), 115'000U);
}

TEST(KeyShapes, are_read_whole_while_they_change) {
  KeyShapes shapes;
  std::vector<std::string> keys;
  for (char letter = 'a'; letter <= 'z'; ++letter) {
    keys.push_back(std::string(20, letter) + ":1");
  }
  const std::jthread worker([&](const std::stop_token& stop) {
    for (std::uint64_t number = 1; !stop.stop_requested(); ++number) {
      shapes.see(number * 1000, keys[number % keys.size()]);  // each is looked at
      if (number % 1000 == 0) {
        shapes.clear();
      }
    }
  });
  for (int seen = 0; seen < 200'000;) {
    shapes.for_each([&seen](std::string_view shape, std::uint64_t /*reads*/) {
      ++seen;
      ASSERT_EQ(shape.find_first_not_of(shape.front()), 20U) << shape;
    });
  }
}

}  // namespace
}  // namespace cuckooguard::guard
