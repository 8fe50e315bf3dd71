#include "keyspace/canonical_integer.h"

#include <string>

#include <gtest/gtest.h>

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

TEST(CanonicalInteger, one_past_the_range_is_refused) {
  EXPECT_EQ(canonical_uint64("18446744073709551616"), std::nullopt);
  EXPECT_EQ(canonical_uint64("184467440737095516150"), std::nullopt);
  EXPECT_EQ(canonical_uint64("-1"), std::nullopt);
  EXPECT_EQ(canonical_int64("9223372036854775808"), std::nullopt);
  EXPECT_EQ(canonical_int64("-9223372036854775809"), std::nullopt);
}

}  // namespace
}  // namespace cuckooguard::keyspace
