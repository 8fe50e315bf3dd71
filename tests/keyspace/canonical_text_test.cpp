#include "keyspace/canonical_text.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace cuckooguard::keyspace {
namespace {

constexpr std::string_view kUuid = "0189fe5c-09af-7000-8000-abcdef012345";

TEST(CanonicalText, a_uuid_has_small_digits_in_five_groups) {
  EXPECT_TRUE(is_canonical(ValueType::uuid, kUuid));
  EXPECT_TRUE(is_canonical(ValueType::uuid, "00000000-0000-0000-0000-000000000000"));
  for (const std::string_view other : {"0189FE5C-09AF-7000-8000-ABCDEF012345",
                                       "0189fe5c-09af-7000-8000-abcdef01234F",
                                       "{0189fe5c-09af-7000-8000-abcdef012345}",
                                       "0189fe5c09af70008000abcdef012345",
                                       "0189-fe5c-09af-7000-8000-abcd-ef01-2345",
                                       "0189fe5c-09af-7000-8000-abcdef01234g",
                                       "0189fe5c-09af-7000-8000-abcdef01234",
                                       "0189fe5c-09af-7000-8000-abcdef0123450",
                                       "0189fe5c-09af-7000-8000-abcdef012345 ",
                                       "0189fe5c-09af-7000-8000xabcdef012345",
                                       "0189fe5c-09af-7000-8000-abcdef01234x",
                                       ""}) {
    EXPECT_FALSE(is_canonical(ValueType::uuid, other)) << other;
  }
}

TEST(CanonicalText, a_numeric_has_no_zero_too_many) {
  for (const std::string_view number :
       {"0", "7", "-7", "0.5", "-0.5", "10", "100.001", "123456789012345678901234567890.1"}) {
    EXPECT_TRUE(is_canonical(ValueType::numeric, number)) << number;
  }
  for (const std::string_view other :
       {"",      "-",    "007", "1.0",   "1.10", "-0",  "-0.0",     "0.0",  ".5",    "5.",
        "+5",    "1e3",  "1E3", " 1",    "1 ",   "NaN", "Infinity", "-inf", "1.2.3", "--1",
        "1_000", "0x1f", "1,5", "-00.5", "1.-5", "-.5", "1:2",      "."}) {
    EXPECT_FALSE(is_canonical(ValueType::numeric, other)) << other;
  }
}

TEST(CanonicalText, a_number_without_its_scale_is_canonical) {
  EXPECT_EQ(without_scale("1"), "1");
  EXPECT_EQ(without_scale("100"), "100");
  EXPECT_EQ(without_scale("1.0"), "1");
  EXPECT_EQ(without_scale("0.00"), "0");
  EXPECT_EQ(without_scale("1.10"), "1.1");
  EXPECT_EQ(without_scale("-10.010"), "-10.01");
  EXPECT_EQ(without_scale("NaN"), "NaN");
  EXPECT_EQ(without_scale(""), "");
}

TEST(CanonicalText, a_date_is_a_day_that_there_is) {
  for (const std::string_view date : {"2024-01-31", "2024-02-29", "0001-01-01", "9999-12-31"}) {
    EXPECT_TRUE(is_canonical(ValueType::date, date)) << date;
  }
  for (const std::string_view other : {"0000-01-01",
                                       "2023-02-29",
                                       "2024-00-10",
                                       "2024-13-01",
                                       "2024-01-00",
                                       "2024-04-31",
                                       "10000-01-01",
                                       "2024-1-1",
                                       "20240101",
                                       "2024/01/01",
                                       "01-02-2024",
                                       "0044-03-15 BC",
                                       "2024-01-01 ",
                                       "-024-01-01",
                                       "infinity",
                                       "-infinity",
                                       "epoch",
                                       ""}) {
    EXPECT_FALSE(is_canonical(ValueType::date, other)) << other;
  }
}

TEST(CanonicalText, bytea_is_small_hexadecimal_digits_in_pairs) {
  EXPECT_TRUE(is_canonical(ValueType::bytea, "\\x"));
  EXPECT_TRUE(is_canonical(ValueType::bytea, "\\x00ff5c"));
  for (const std::string_view other :
       {"", "00ff", "\\x0", "\\x0F", "\\x 00", "\\X00", "x00", "\\000", "abc", "\\xgg"}) {
    EXPECT_FALSE(is_canonical(ValueType::bytea, other)) << other;
  }
}

TEST(CanonicalText, any_text_is_and_integers_as_they_are_printed) {
  EXPECT_TRUE(is_canonical(ValueType::text, ""));
  EXPECT_TRUE(is_canonical(ValueType::text_ci, "A "));
  EXPECT_TRUE(is_canonical(ValueType::int64, "-7"));
  EXPECT_FALSE(is_canonical(ValueType::uint64, "-7"));
  EXPECT_FALSE(is_canonical(ValueType::int64, "007"));
}

}  // namespace
}  // namespace cuckooguard::keyspace
