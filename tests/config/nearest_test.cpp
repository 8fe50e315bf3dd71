#include "config/nearest.h"

#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace cuckooguard::config {
namespace {

constexpr std::array<std::string_view, 3> kNames = {"upstream", "limits", "log"};

TEST(Nearest, finds_slips_of_the_keyboard) {
  EXPECT_EQ(nearest("upstrem", kNames), "upstream");
  EXPECT_EQ(nearest("upsrteam", kNames), "upstream") << "two swapped letters are one slip";
  EXPECT_EQ(nearest("limit", kNames), "limits");
  EXPECT_EQ(nearest("lg", kNames), "log");
}

TEST(Nearest, says_nothing_rather_than_something_silly) {
  EXPECT_EQ(nearest("sources", kNames), std::nullopt);
  EXPECT_EQ(nearest("", kNames), std::nullopt);
  EXPECT_EQ(nearest(std::string(100'000, 'x'), kNames), std::nullopt);
}

TEST(Nearest, the_best_of_several_wins) {
  constexpr std::array<std::string_view, 2> kClose = {"max_client", "max_clients"};
  EXPECT_EQ(nearest("max_clientss", kClose), "max_clients");
}

TEST(Nearest, suggestion_falls_back_to_what_is_valid) {
  EXPECT_EQ(suggestion("limts", kNames), ", did you mean \"limits\"?");
  EXPECT_EQ(suggestion("other", kNames), "; valid: upstream, limits, log");
  EXPECT_EQ(suggestion("other", {}), "");
}

TEST(Nearest, long_lists_are_cut) {
  const std::vector<std::string_view> many(50, "some_name");
  EXPECT_TRUE(suggestion("other", many).ends_with("some_name, ..."));
  EXPECT_LT(suggestion("other", many).size(), 200U);
}

}  // namespace
}  // namespace cuckooguard::config
