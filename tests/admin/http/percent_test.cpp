#include "http/percent.h"

#include <gtest/gtest.h>

namespace cuckooguard::http {
namespace {

using std::string_literals::operator""s;

TEST(Percent, what_is_encoded_is_any_byte_and_what_is_not_stays) {
  EXPECT_EQ(percent_decoded(""), "");
  EXPECT_EQ(percent_decoded("a-b_c.d~42+"), "a-b_c.d~42+");
  EXPECT_EQ(percent_decoded("a%2Fb%2fc%25"), "a/b/c%");
  EXPECT_EQ(percent_decoded("%00%0d%0a%ff"), "\0\r\n\xff"s);
  EXPECT_EQ(percent_decoded("%2541"), "%41") << "once, not twice";
}

TEST(Percent, what_is_no_encoding_is_not_guessed_at) {
  for (const char* const text :
       {"%", "a%", "%4", "%4g", "%g4", "%-1", "% 1", "%%41", "%+1", "%0x"}) {
    EXPECT_EQ(percent_decoded(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace cuckooguard::http
