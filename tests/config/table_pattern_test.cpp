#include "config/table_pattern.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace cuckooguard::config {
namespace {

bool matches(std::string_view pattern, std::string_view name) {
  return matches_table(pattern, name, NameCase::exact);
}

// The definition, in exponential time.
bool matches_by_definition(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) {
    return name.empty();
  }
  if (pattern.front() == '*') {
    return matches_by_definition(pattern.substr(1), name) ||
           (!name.empty() && matches_by_definition(pattern, name.substr(1)));
  }
  return !name.empty() && (pattern.front() == '?' || pattern.front() == name.front()) &&
         matches_by_definition(pattern.substr(1), name.substr(1));
}

TEST(TablePattern, a_name_is_itself_alone) {
  EXPECT_FALSE(is_table_pattern("user"));
  EXPECT_TRUE(matches("user", "user"));
  EXPECT_FALSE(matches("user", "users"));
  EXPECT_FALSE(matches("user", "use"));
  EXPECT_FALSE(matches("user", "User"));
  EXPECT_FALSE(matches("", "user"));
}

TEST(TablePattern, a_star_is_any_characters_or_none) {
  EXPECT_TRUE(is_table_pattern("user_*"));
  EXPECT_TRUE(matches("user_*", "user_"));
  EXPECT_TRUE(matches("user_*", "user_2026"));
  EXPECT_FALSE(matches("user_*", "user"));
  EXPECT_FALSE(matches("user_*", "old_user_1"));
  EXPECT_TRUE(matches("*_user_*", "old_user_1"));
  EXPECT_TRUE(matches("*", ""));
}

TEST(TablePattern, a_question_mark_is_one_character) {
  EXPECT_TRUE(is_table_pattern("user_?"));
  EXPECT_TRUE(matches("user_?", "user_1"));
  EXPECT_FALSE(matches("user_?", "user_10"));
  EXPECT_FALSE(matches("user_?", "user_"));
}

TEST(TablePattern, nothing_else_is_special) {
  for (const std::string name : {"a.b", "a[b]", "a%", "a_b", "a\\b", "a+", "(a)"}) {
    EXPECT_FALSE(is_table_pattern(name));
    EXPECT_TRUE(matches(name, name));
  }
  EXPECT_FALSE(matches("a.b", "acb"));
  EXPECT_FALSE(matches("a%", "abc"));
  EXPECT_FALSE(matches("[ab]", "a"));
}

TEST(TablePattern, case_counts_unless_the_database_ignores_it) {
  EXPECT_FALSE(matches_table("User_*", "user_1", NameCase::exact));
  EXPECT_TRUE(matches_table("User_*", "uSER_1", NameCase::ignored));
  EXPECT_FALSE(matches_table("\xC3\x84*", "\xC3\xA4x", NameCase::ignored)) << "A to Z alone";
}

TEST(TablePattern, any_of_several_will_do) {
  const std::vector<std::string> patterns{"order", "user_*"};
  EXPECT_TRUE(matches_any_table(patterns, "order", NameCase::exact));
  EXPECT_TRUE(matches_any_table(patterns, "user_9", NameCase::exact));
  EXPECT_FALSE(matches_any_table(patterns, "orders", NameCase::exact));
}

// All patterns and names of so many letters.
TEST(TablePattern, means_what_its_definition_says) {
  const auto words = [](std::string_view letters, std::size_t longest) {
    std::vector<std::string> all{""};
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (const char letter : letters) {
        if (all[i].size() < longest) {
          all.push_back(all[i] + letter);
        }
      }
    }
    return all;
  };
  const auto names = words("ab", 5);
  for (const std::string& pattern : words("ab*?", 5)) {
    for (const std::string& name : names) {
      ASSERT_EQ(matches(pattern, name), matches_by_definition(pattern, name))
          << pattern << " " << name;
    }
  }
}

TEST(TablePattern, many_stars_take_no_exponential_time) {
  EXPECT_FALSE(matches("*a*a*a*a*a*a*a*a*a*a*b", std::string(5000, 'a')));
}

}  // namespace
}  // namespace cuckooguard::config
