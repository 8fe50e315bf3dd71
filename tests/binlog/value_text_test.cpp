// What the recordings leave open: they compare the texts of whole tables with those of SELECT.
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "binlog/rows.h"

namespace cuckooguard::binlog {
namespace {

using namespace std::string_literals;

std::expected<std::string, DecodeError> text_of(const TextRule& rule, const std::string& value) {
  // As much scratch as is asked for, and not a byte more.
  const std::vector<char> empty(rule.scratch_bytes(), '#');
  std::vector<char> scratch = empty;
  const auto text = write_text(rule, value, scratch.data());
  if (!text) {
    return std::unexpected(text.error());
  }
  return std::string(*text);
}

TEST(ValueText, writes_integers_of_every_width) {
  const TextRule with_sign{.form = TextForm::signed_int};
  const TextRule without{.form = TextForm::unsigned_int};
  for (const std::size_t bytes : {1UL, 2UL, 3UL, 4UL, 8UL}) {
    const std::string all_bits(bytes, '\xff');
    const std::uint64_t most =
        bytes == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * bytes)) - 1;
    EXPECT_EQ(text_of(with_sign, all_bits), "-1");
    EXPECT_EQ(text_of(without, all_bits), std::to_string(most));
    std::string lowest(bytes, '\0');
    EXPECT_EQ(text_of(with_sign, lowest), "0");
    lowest.back() = '\x80';
    const std::uint64_t half = most / 2 + 1;
    EXPECT_EQ(text_of(with_sign, lowest), "-" + std::to_string(half));
    EXPECT_EQ(text_of(without, lowest), std::to_string(half));
  }
}

TEST(ValueText, gives_back_the_zeros_that_the_log_leaves_out_of_binary) {
  const TextRule rule{.form = TextForm::zero_padded, .length = 4};
  EXPECT_EQ(text_of(rule, "a"), "a\0\0\0"s);
  EXPECT_EQ(text_of(rule, ""), "\0\0\0\0"s);
  EXPECT_EQ(text_of(rule, "abcd"), "abcd");
  EXPECT_EQ(text_of(rule, "abcde").error(), DecodeError::malformed);
}

TEST(ValueText, writes_dates_of_four_digit_years_with_zeros_where_they_are) {
  const TextRule rule{.form = TextForm::date};
  EXPECT_EQ(text_of(rule, "\0\0\0"s), "0000-00-00");
  EXPECT_EQ(text_of(rule, "\x21\0\0"s), "0000-01-01");
  EXPECT_EQ(text_of(rule, "\x9f\x1f\x4e"s), "9999-12-31");
  EXPECT_EQ(text_of(rule, "\xff\xff\xff"s).error(), DecodeError::malformed);
  EXPECT_EQ(text_of(rule, "\xa0\x01\0"s).error(), DecodeError::malformed) << "a 13th month";
}

TEST(ValueText, writes_years_from_1901_and_the_year_zero) {
  const TextRule rule{.form = TextForm::year};
  EXPECT_EQ(text_of(rule, "\0"s), "0000");
  EXPECT_EQ(text_of(rule, "\x01"s), "1901");
  EXPECT_EQ(text_of(rule, "\xff"s), "2155");
}

TEST(ValueText, refuses_decimals_with_more_digits_than_their_group_has) {
  const TextRule rule{.form = TextForm::decimal, .length = 9, .scale = 0};
  EXPECT_EQ(text_of(rule, "\xbb\x9a\xc9\xff"s), "999999999");
  EXPECT_EQ(text_of(rule, "\xbb\x9a\xca\x00"s).error(), DecodeError::malformed);
  const TextRule two{.form = TextForm::decimal, .length = 2, .scale = 0};
  EXPECT_EQ(text_of(two, "\xe3"s), "99");
  EXPECT_EQ(text_of(two, "\xe4"s).error(), DecodeError::malformed);
}

TEST(ValueText, writes_decimals_without_an_integer_part) {
  const TextRule rule{.form = TextForm::decimal, .length = 2, .scale = 2};
  EXPECT_EQ(text_of(rule, "\x85"s), "0.05");
  EXPECT_EQ(text_of(rule, "\x7a"s), "-0.05");
}

TEST(ValueText, has_none_for_a_type_without_a_form) {
  EXPECT_EQ(text_of({}, "x").error(), DecodeError::no_text_form);
}

}  // namespace
}  // namespace cuckooguard::binlog
