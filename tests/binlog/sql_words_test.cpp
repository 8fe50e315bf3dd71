#include "binlog/sql_words.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace cuckooguard::binlog {
namespace {

// The words, parted by bars; those in a version comment in braces; '!' for malformed.
std::string words_of(std::string_view text) {
  SqlWords words(text);
  std::string all;
  for (auto word = words.next(); word.kind != SqlWords::Kind::end; word = words.next()) {
    if (word.kind == SqlWords::Kind::malformed) {
      return all + "!";
    }
    const std::string shown(word.text);
    all += word.in_version_comment ? "{" + shown + "}" : shown;
    all += '|';
  }
  return all;
}

TEST(SqlWords, are_parted_by_blanks_and_symbols) {
  EXPECT_EQ(words_of(" drop\tTABLE\r\nshop.items;"), "drop|TABLE|shop|.|items|;|");
  EXPECT_EQ(words_of(""), "");
}

TEST(SqlWords, are_compared_without_regard_to_case_and_as_a_whole) {
  SqlWords words("tRuncate truncated `TRUNCATE`");
  EXPECT_TRUE(words.next().is("TRUNCATE"));
  EXPECT_FALSE(words.next().is("TRUNCATE"));
  EXPECT_FALSE(words.next().is("`TRUNCATE`"));
}

TEST(SqlWords, do_not_see_comments) {
  EXPECT_EQ(words_of("/* a */drop/**/-- b\n # c\n/*d*/table"), "drop|table|");
  EXPECT_EQ(words_of("drop -- to the end"), "drop|");
  EXPECT_EQ(words_of("1--2"), "1|-|-|2|");
}

TEST(SqlWords, tell_which_are_in_a_version_comment) {
  EXPECT_EQ(words_of("DROP /*!40005 TEMPORARY */ TABLE /*M!100100 IF*/ x"),
            "DROP|{TEMPORARY}|TABLE|{IF}|x|");
  EXPECT_EQ(words_of("/*!a /* b */ c*/ d"), "{a}|{c}|d|");
}

TEST(SqlWords, keep_quoted_text_together) {
  EXPECT_EQ(words_of("`a``b` 'it''s' \"x\\\"y\" '/*'"), "`a``b`|'it''s'|\"x\\\"y\"|'/*'|");
}

TEST(SqlWords, end_at_what_is_not_closed) {
  EXPECT_EQ(words_of("drop /* never"), "drop|!");
  EXPECT_EQ(words_of("drop /*! never"), "drop|{never}|!");
  EXPECT_EQ(words_of("drop 'never"), "drop|!");
  EXPECT_EQ(words_of("'a\\'"), "!");
}

}  // namespace
}  // namespace cuckooguard::binlog
