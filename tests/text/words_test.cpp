#include "text/words.h"

#include <string_view>

#include <gtest/gtest.h>

namespace cuckooguard::text {
namespace {

TEST(Words, are_taken_off_with_the_separator_behind_them) {
  std::string_view text = "a bc  d";
  EXPECT_EQ(take_word(text), "a");
  EXPECT_EQ(take_word(text), "bc");
  EXPECT_EQ(take_word(text), "");
  EXPECT_EQ(take_word(text, ':'), "d");
  EXPECT_EQ(text, "");
  EXPECT_EQ(take_word(text), "");
}

TEST(Words, are_trimmed_of_blanks_on_both_sides) {
  EXPECT_EQ(trimmed(" \ta b\n ", " \t\n"), "a b");
  EXPECT_EQ(trimmed(" \t", " \t"), "");
  EXPECT_EQ(trimmed("", " "), "");
}

TEST(Words, are_quoted_and_unquoted_with_quotes_in_them_doubled) {
  EXPECT_EQ(quoted("a`b", '`'), "`a``b`");
  EXPECT_EQ(quoted("", '\''), "''");
  for (const std::string_view text : {"", "a", "\"", "a\"\"b\"", "'"}) {
    EXPECT_EQ(unquoted(text::quoted(text, '"')), text);
  }
  EXPECT_EQ(unquoted("[a]]b] c"), "a]b");
  EXPECT_EQ(unquoted("'a' 'b'"), "a");
  EXPECT_EQ(unquoted("'open"), "open");
}

}  // namespace
}  // namespace cuckooguard::text
