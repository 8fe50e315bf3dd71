#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "keyspace/canonical_text.h"

namespace cuckooguard::keyspace {
namespace {

TEST(EqualInteger, is_what_a_text_begins_with) {
  for (const auto& [text, integer] : {std::pair<std::string_view, std::string_view>{"007", "7"},
                                      {" \t7abc", "7"},
                                      {"+7", "7"},
                                      {"-07", "-7"},
                                      {"-0", "0"},
                                      {"7.0", "7"},
                                      {".7e1x", "7"},
                                      {"1e3", "1000"},
                                      {"0x10", "0"},
                                      {"9007199254740991x", "9007199254740991"}}) {
    const EqualInteger found = equal_integer(text);
    EXPECT_TRUE(found.is_known) << text;
    EXPECT_EQ(found.text, integer) << text;
  }
}

TEST(EqualInteger, of_what_begins_with_none_is_0) {
  for (const std::string_view text : {"seven", "", " ", "-", "--7", "inf", "nan", ":7"}) {
    EXPECT_EQ(equal_integer(text).text, "0") << text;
  }
}

TEST(EqualInteger, may_be_none_or_several) {
  for (const std::string_view text : {"7.5", "99999999999999999999"}) {
    EXPECT_TRUE(equal_integer(text).is_known) << text;
    EXPECT_FALSE(equal_integer(text).text) << text;
  }
  for (const std::string_view text :
       {"9007199254740992x", "-9007199254740993x", "1e999", "1e-999"}) {
    EXPECT_FALSE(equal_integer(text).is_known) << text;
  }
}

}  // namespace
}  // namespace cuckooguard::keyspace
