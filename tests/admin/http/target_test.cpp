#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/message.h"

namespace cuckooguard::http {
namespace {

using std::string_literals::operator""s;
using testing::ElementsAre;
using testing::Optional;

TEST(Target, is_a_path_whether_a_proxy_asks_or_not) {
  EXPECT_EQ(parse_target("/a/b").value().path, "/a/b");
  EXPECT_EQ(parse_target("http://guard:9180/a").value().path, "/a");
  EXPECT_EQ(parse_target("https://guard/").value().path, "/");
  for (const char* const text : {"", "*", "a", "http://guard", "ftp://guard/a"}) {
    EXPECT_FALSE(parse_target(text)) << text;
  }
}

TEST(Target, has_a_query_if_there_is_a_question_mark) {
  EXPECT_EQ(parse_target("/a").value().query, std::nullopt);
  EXPECT_EQ(parse_target("/a?").value().query, "");
  EXPECT_EQ(parse_target("/a?b=c?d").value().query, "b=c?d");
  EXPECT_EQ(parse_target("/a?b=c?d").value().path, "/a");
}

TEST(Target, what_is_encoded_is_any_byte_and_what_is_not_stays) {
  EXPECT_THAT(decoded_segments(""), Optional(ElementsAre("")));
  EXPECT_THAT(decoded_segments("a-b_c.d~42+"), Optional(ElementsAre("a-b_c.d~42+")));
  EXPECT_THAT(decoded_segments("a%2Fb%2fc%25"), Optional(ElementsAre("a/b/c%")));
  EXPECT_THAT(decoded_segments("%00%0d%0a%ff"), Optional(ElementsAre("\0\r\n\xff"s)));
  EXPECT_THAT(decoded_segments("%2541"), Optional(ElementsAre("%41"))) << "once, not twice";
  EXPECT_THAT(decoded_segments("\"\xff\0 |#\x80"s), Optional(ElementsAre("\"\xff\0 |#\x80"s)));
}

TEST(Target, every_slash_parts_two_segments) {
  EXPECT_THAT(decoded_segments("a/b%2F/c"), Optional(ElementsAre("a", "b/", "c")));
  EXPECT_THAT(decoded_segments("/a//"), Optional(ElementsAre("", "a", "", "")));
}

TEST(Target, what_is_no_encoding_is_not_guessed_at) {
  for (const char* const text :
       {"%", "a%", "%4", "%4g", "%g4", "%-1", "% 1", "%%41", "%+1", "%0x", "a/%", "%4/1"}) {
    EXPECT_EQ(decoded_segments(text), std::nullopt) << text;
  }
}

TEST(Target, a_query_is_asked_by_name) {
  EXPECT_EQ(parameter("verbose", "verbose"), "");
  EXPECT_EQ(parameter("a=1&b=2%203", "b"), "2 3");
  EXPECT_EQ(parameter("", "b"), std::nullopt);
  EXPECT_EQ(parameter(std::nullopt, "b"), std::nullopt);
  EXPECT_EQ(parameter("bb=1", "b"), std::nullopt);
  EXPECT_EQ(parameter("b=%4", "b"), std::nullopt);
}

TEST(Target, a_query_ends_where_it_ends_and_not_at_a_nul) {
  const std::string_view whole = "b=123&c=4";
  EXPECT_EQ(parameter(whole.substr(0, 3), "b"), "1");
  EXPECT_EQ(parameter(whole.substr(0, 3), "c"), std::nullopt);
  EXPECT_EQ(parameter(std::string_view("b=1\0&c=4", 8), "b"), std::nullopt);
}

}  // namespace
}  // namespace cuckooguard::http
