#include <string>

#include <gtest/gtest.h>

#include "keyspace/canonical_text.h"

namespace cuckooguard::keyspace {
namespace {

TEST(CanonicalInteger, whole_range_of_uint64_is_accepted) {
  EXPECT_EQ(canonical_uint64("0"), 0U);
  EXPECT_EQ(canonical_uint64("7"), 7U);
  EXPECT_EQ(canonical_uint64("18446744073709551615"), UINT64_MAX);
}

TEST(CanonicalInteger, whole_range_of_int64_is_accepted) {
  EXPECT_EQ(canonical_int64("0"), 0);
  EXPECT_EQ(canonical_int64("-1"), -1);
  EXPECT_EQ(canonical_int64("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(canonical_int64("-9223372036854775808"), INT64_MIN);
}

TEST(CanonicalInteger, what_sql_would_coerce_is_refused) {
  using namespace std::string_literals;
  for (const std::string& text : {""s,
                                  " "s,
                                  "+7"s,
                                  " 7"s,
                                  "7 "s,
                                  "007"s,
                                  "00"s,
                                  "7abc"s,
                                  "7.0"s,
                                  "7e1"s,
                                  "0x7"s,
                                  "--7"s,
                                  "-"s,
                                  "-0"s,
                                  "-07"s,
                                  "7\0"s,
                                  "\xef\xbc\x97"s}) {
    EXPECT_EQ(canonical_uint64(text), std::nullopt) << '"' << text << '"';
    EXPECT_EQ(canonical_int64(text), std::nullopt) << '"' << text << '"';
  }
}

TEST(CanonicalInteger, digits_of_every_number_are_read_in_their_order) {
  for (std::size_t digits = 1; digits <= 19; ++digits) {
    const std::string text = std::string("1234567890987654321").substr(0, digits);
    EXPECT_EQ(canonical_uint64(text), std::stoull(text)) << text;
  }
  EXPECT_EQ(canonical_uint64("99999999"), 99'999'999U);
  EXPECT_EQ(canonical_uint64("9999999999999999"), 9'999'999'999'999'999U);
}

TEST(CanonicalInteger, a_byte_that_is_no_digit_is_seen_wherever_it_is) {
  for (std::size_t digits = 1; digits <= 20; ++digits) {
    for (std::size_t at = 0; at < digits; ++at) {
      for (int byte = 0; byte <= 255; ++byte) {
        std::string text(digits, '1');
        text[at] = static_cast<char>(byte);
        const bool is_canonical =
            byte >= '0' && byte <= '9' && (byte != '0' || at != 0 || digits == 1);
        const bool is_too_large = digits == 20 && text > "18446744073709551615";
        EXPECT_EQ(canonical_uint64(text).has_value(), is_canonical && !is_too_large) << text;
      }
    }
  }
}

TEST(CanonicalInteger, one_past_the_range_is_refused) {
  EXPECT_EQ(canonical_uint64("18446744073709551616"), std::nullopt);
  EXPECT_EQ(canonical_uint64("184467440737095516150"), std::nullopt);
  EXPECT_EQ(canonical_uint64("-1"), std::nullopt);
  EXPECT_EQ(canonical_int64("9223372036854775808"), std::nullopt);
  EXPECT_EQ(canonical_int64("-9223372036854775809"), std::nullopt);
}

}  // namespace
}  // namespace cuckooguard::keyspace
