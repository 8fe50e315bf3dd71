#include "text/utf8.h"

#include <gtest/gtest.h>

namespace cuckooguard::text {
namespace {

TEST(Utf8, is_text_of_whole_characters_in_their_shortest_form) {
  for (const std::string_view text : {std::string_view(""),
                                      std::string_view("a\0b", 3),
                                      std::string_view("g\xc3\xa4hnt"),
                                      std::string_view("\xe2\x82\xac\xf0\x9f\x90\xa6")}) {
    EXPECT_TRUE(is_utf8(text)) << text;
  }
  for (const std::string_view text :
       {"\xff", "a\xc3", "\xe4hnlich", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80"}) {
    EXPECT_FALSE(is_utf8(text)) << text;
  }
}

}  // namespace
}  // namespace cuckooguard::text
