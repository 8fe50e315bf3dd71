#include "text/number.h"

#include <cstdint>
#include <optional>
#include <string_view>

#include <gtest/gtest.h>

#include "text/grouped.h"

namespace cuckooguard::text {
namespace {

TEST(Number, is_what_the_whole_text_is) {
  EXPECT_EQ(number_of<int>("42"), 42);
  EXPECT_EQ(number_of<int>("-42"), -42);
  EXPECT_EQ(number_of<double>("2.5e1"), 25.0);
  EXPECT_EQ(number_of<unsigned>("ff", 16), 255U);
  for (const std::string_view none : {"", "-", "+1", " 1", "1 ", "1a", "0x1"}) {
    EXPECT_EQ(number_of<int>(none), std::nullopt) << none;
  }
}

TEST(Number, that_does_not_fit_is_none) {
  EXPECT_EQ(number_of<std::uint16_t>("65535"), 65535);
  EXPECT_EQ(number_of<std::uint16_t>("65536"), std::nullopt);
  EXPECT_EQ(number_of<std::uint16_t>("-1"), std::nullopt);
}

TEST(Number, is_taken_off_the_beginning) {
  std::string_view text = "12,x";
  EXPECT_EQ(take_number<int>(text), 12);
  EXPECT_EQ(text, ",x");
  EXPECT_EQ(take_number<int>(text), std::nullopt);
  EXPECT_EQ(text, ",x");
}

TEST(Number, that_leads_is_read_of_values_that_may_be_null_or_none) {
  EXPECT_EQ(leading_number("12 kB"), 12U);
  EXPECT_EQ(leading_number(std::nullopt), 0U);
  EXPECT_EQ(leading_number<std::uint8_t>("256"), 0) << "too large";
  EXPECT_EQ(leading_number("kB", 7U), 7U);
}

TEST(Number, is_grouped_by_thousands_for_people) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(1'234'567), "1,234,567");
}

}  // namespace
}  // namespace cuckooguard::text
