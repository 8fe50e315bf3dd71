#include "text/ascii.h"

#include <string>

#include <gtest/gtest.h>

namespace cuckooguard::text {
namespace {

TEST(Ascii, a_byte_is_a_digit_a_letter_of_one_case_or_neither) {
  std::string digits;
  std::string lower;
  std::string upper;
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    digits += is_digit(c) ? std::string(1, c) : "";
    lower += is_lower(c) ? std::string(1, c) : "";
    upper += is_upper(c) ? std::string(1, c) : "";
    EXPECT_EQ(is_letter(c), is_lower(c) || is_upper(c)) << byte;
    EXPECT_EQ(is_alphanumeric(c), is_letter(c) || is_digit(c)) << byte;
  }
  EXPECT_EQ(digits, "0123456789");
  EXPECT_EQ(lower, "abcdefghijklmnopqrstuvwxyz");
  EXPECT_EQ(upper, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
}

TEST(Ascii, only_its_letters_have_a_case) {
  EXPECT_EQ(lower_case("@AZ[`az{ \xc3\x84"), "@az[`az{ \xc3\x84");
  EXPECT_EQ(upper_case("@AZ[`az{ \xc3\xa4"), "@AZ[`AZ{ \xc3\xa4");
}

TEST(Ascii, texts_are_equal_in_any_case) {
  EXPECT_TRUE(equals_in_any_case("aZ_1", "Az_1"));
  EXPECT_FALSE(equals_in_any_case("a", "ab"));
  EXPECT_FALSE(equals_in_any_case("@", "`"));
  EXPECT_FALSE(equals_in_any_case("\xc3\x84", "\xc3\xa4"));
}

}  // namespace
}  // namespace cuckooguard::text
