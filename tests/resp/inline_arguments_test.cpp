#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "resp/request_scanner.h"

namespace cuckooguard::resp {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;

// Nothing where the quotes are wrong.
std::optional<std::vector<std::string>> split(std::string_view line) {
  // Memory of exactly this size, so that the address sanitizer sees a look beyond the end.
  const std::vector<char> exact(line.begin(), line.end());
  Arguments arguments;
  if (!split_inline({exact.data(), exact.size()}, arguments)) {
    return std::nullopt;
  }
  return std::vector<std::string>(arguments.views().begin(), arguments.views().end());
}

// The expectations of this file were asked of Redis 7.0.15 (ECHO with these arguments).

TEST(InlineArguments, blanks_separate_and_do_not_count) {
  EXPECT_THAT(split("GET key"), Optional(ElementsAre("GET", "key")));
  EXPECT_THAT(split("  GET \t key  "), Optional(ElementsAre("GET", "key")));
  EXPECT_THAT(split("ECHO\ra"), Optional(ElementsAre("ECHO", "a")));
  EXPECT_THAT(split(""), Optional(ElementsAre()));
  EXPECT_THAT(split(" \t\v\f\r "), Optional(ElementsAre()));
}

TEST(InlineArguments, vertical_tab_and_form_feed_are_blanks_only_between_arguments) {
  EXPECT_THAT(split("\v\fECHO \v abc"), Optional(ElementsAre("ECHO", "abc")));
  EXPECT_THAT(split("\vECHO\v"), Optional(ElementsAre("ECHO\v")));
  EXPECT_THAT(split("ECHO a\vb"), Optional(ElementsAre("ECHO", "a\vb")));
  EXPECT_THAT(split("ECHO \"a\"\vb"), Optional(ElementsAre("ECHO", "a", "b")));
}

TEST(InlineArguments, bytes_above_127_are_text) {
  EXPECT_THAT(split("ECHO \xa0\x85"), Optional(ElementsAre("ECHO", "\xa0\x85")));
}

TEST(InlineArguments, double_quotes_hold_blanks_and_escapes) {
  EXPECT_THAT(split(R"(ECHO "a b")"), Optional(ElementsAre("ECHO", "a b")));
  EXPECT_THAT(split(R"(ECHO "a\x41\n\q b")"), Optional(ElementsAre("ECHO", "aA\nq b")));
  EXPECT_THAT(split(R"("\n\r\t\b\a\\\"")"), Optional(ElementsAre("\n\r\t\b\a\\\"")));
  EXPECT_THAT(split(R"("it's")"), Optional(ElementsAre("it's")));
}

TEST(InlineArguments, hexadecimal_escapes_need_two_digits) {
  EXPECT_THAT(split(R"("\xFf\xa0")"), Optional(ElementsAre("\xff\xa0")));
  EXPECT_THAT(split(R"("\x00")"), Optional(ElementsAre(std::string(1, '\0'))));
  EXPECT_THAT(split(R"("\x4g")"), Optional(ElementsAre("x4g")));
  EXPECT_THAT(split(R"("\xg4")"), Optional(ElementsAre("xg4")));
  EXPECT_THAT(split(R"("\x4")"), Optional(ElementsAre("x4")));
}

TEST(InlineArguments, single_quotes_hold_all_but_an_escaped_single_quote) {
  EXPECT_THAT(split(R"(ECHO 'a\'b\n')"), Optional(ElementsAre("ECHO", R"(a'b\n)")));
  EXPECT_THAT(split(R"('a"b')"), Optional(ElementsAre(R"(a"b)")));
  EXPECT_THAT(split(R"('\x41\\ ')"), Optional(ElementsAre(R"(\x41\\ )")));
  EXPECT_EQ(split(R"('a\\')"), std::nullopt) << "the second backslash escapes the quote";
}

TEST(InlineArguments, a_quote_may_open_inside_an_argument) {
  EXPECT_THAT(split(R"(ECHO a"b c")"), Optional(ElementsAre("ECHO", "ab c")));
  EXPECT_THAT(split(R"(ECHO a'b c' d)"), Optional(ElementsAre("ECHO", "ab c", "d")));
}

TEST(InlineArguments, empty_quotes_are_an_argument) {
  EXPECT_THAT(split(R"("")"), Optional(ElementsAre("")));
  EXPECT_THAT(split(R"(ECHO '')"), Optional(ElementsAre("ECHO", "")));
}

TEST(InlineArguments, a_closing_quote_must_end_the_argument) {
  EXPECT_EQ(split(R"("abc"d)"), std::nullopt);
  EXPECT_EQ(split(R"('abc'd)"), std::nullopt);
  EXPECT_EQ(split(R"(a"b"c)"), std::nullopt);
  EXPECT_EQ(split(R"("a""b")"), std::nullopt);
}

TEST(InlineArguments, an_open_quote_is_refused) {
  EXPECT_EQ(split("\""), std::nullopt);
  EXPECT_EQ(split("ECHO \"abc"), std::nullopt);
  EXPECT_EQ(split("ECHO 'abc"), std::nullopt);
  EXPECT_EQ(split("ECHO a\\\"b"), std::nullopt) << "a backslash means nothing outside of quotes";
  EXPECT_EQ(split("\"abc\\"), std::nullopt);
  EXPECT_EQ(split("\"abc\\\""), std::nullopt);
  EXPECT_EQ(split("'abc\\"), std::nullopt);
  EXPECT_EQ(split("'abc\\'"), std::nullopt);
}

TEST(InlineArguments, many_quoted_ones_keep_their_own_text) {
  std::string line;
  for (int i = 0; i < 1000; ++i) {
    line += '"' + std::to_string(i) + "\" ";
  }
  const std::vector<std::string> arguments = split(line).value_or(std::vector<std::string>());
  ASSERT_EQ(arguments.size(), 1000);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    EXPECT_EQ(arguments[i], std::to_string(i));
  }
}

TEST(InlineArguments, unquoted_ones_are_not_copied) {
  const std::string_view line = "GET key";
  Arguments arguments;
  ASSERT_TRUE(split_inline(line, arguments));
  EXPECT_EQ(arguments[1].data(), line.data() + 4);
}

}  // namespace
}  // namespace cuckooguard::resp
