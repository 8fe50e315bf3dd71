#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "views/check.h"

namespace cuckooguard::views {
namespace {

using std::string_literals::operator""s;
using testing::HasSubstr;

std::string error_of(std::string_view json, std::size_t values = 1) {
  const auto parsed = parse_identities(json, values);
  return parsed ? "none" : parsed.error();
}

TEST(IdentityList, texts_and_whole_numbers_are_values) {
  const auto parsed = parse_identities(
      R"([ "42", 42, -7, 18446744073709551615, "a/b", "\u0000\r\n", "é", ["x"] ])", 1);
  ASSERT_TRUE(parsed) << parsed.error();
  EXPECT_EQ(
      *parsed,
      (std::vector<Identity>{
          {"42"}, {"42"}, {"-7"}, {"18446744073709551615"}, {"a/b"}, {"\0\r\n"s}, {"é"}, {"x"}}));
  EXPECT_EQ(parse_identities("[]", 1)->size(), 0U);
}

TEST(IdentityList, several_values_are_a_list_each) {
  const auto parsed = parse_identities(R"([["acme", 7], ["umbrella", "8"]])", 2);
  ASSERT_TRUE(parsed) << parsed.error();
  EXPECT_EQ(*parsed, (std::vector<Identity>{{"acme", "7"}, {"umbrella", "8"}}));
}

TEST(IdentityList, what_is_no_value_is_refused_and_named) {
  EXPECT_THAT(error_of(R"(["1", ""])"), HasSubstr("Element 1 of the list must be a text"));
  for (const char* const json : {"[1.0]",
                                 "[1e2]",
                                 "[18446744073709551616]",
                                 "[null]",
                                 "[true]",
                                 "[{}]",
                                 "[[]]",
                                 "[[1, 2]]",
                                 "[[[1]]]"}) {
    EXPECT_THAT(error_of(json), HasSubstr("Element 0")) << json;
  }
  for (const char* const json : {R"(["a"])", R"([["a"]])", R"([["a", "b", "c"]])"}) {
    EXPECT_THAT(error_of(json, 2), HasSubstr("a list of 2 values")) << json;
  }
}

TEST(IdentityList, what_is_no_list_is_refused) {
  for (const char* const json :
       {"", "[", "[1,]", "{}", "42", "[1] [2]", "[\"\xff\"]", "[\"\x01\"]", "[01]"}) {
    EXPECT_THAT(error_of(json), HasSubstr("must be a JSON list of identities")) << json;
  }
  EXPECT_THAT(error_of(std::string(1000, '[')), HasSubstr("must be a JSON list"));
}

TEST(IdentityList, is_bounded) {
  const auto list_of = [](std::size_t count) {
    std::string json = "[1";
    for (std::size_t i = 1; i < count; ++i) {
      json += ",1";
    }
    return json + "]";
  };
  EXPECT_EQ(parse_identities(list_of(kIdentitiesMax), 1)->size(), kIdentitiesMax);
  EXPECT_THAT(error_of(list_of(kIdentitiesMax + 1)), HasSubstr("more than 1000"));
}

}  // namespace
}  // namespace cuckooguard::views
