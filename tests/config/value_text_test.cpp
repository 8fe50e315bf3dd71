#include <random>

#include <gtest/gtest.h>

#include "config/values.h"

namespace cuckooguard::config {
namespace {

using namespace std::chrono_literals;

TEST(ValueText, units_are_the_largest_that_are_whole) {
  EXPECT_EQ(text_of(0ms), "0s");
  EXPECT_EQ(text_of(1500ms), "1500ms");
  EXPECT_EQ(text_of(milliseconds(90s)), "90s");
  EXPECT_EQ(text_of(milliseconds(60s)), "1m");
  EXPECT_EQ(text_of(milliseconds(36h)), "36h");
  EXPECT_EQ(text_of(milliseconds(48h)), "2d");
  EXPECT_EQ(text_of_bytes(0), "0B");
  EXPECT_EQ(text_of_bytes(1025), "1025B");
  EXPECT_EQ(text_of_bytes(1024 * 1024), "1MiB");
  EXPECT_EQ(text_of(std::uint64_t{10'000}), "10000");
  EXPECT_EQ(text_of(std::uint64_t{3'000'000}), "3M");
}

TEST(ValueText, rates_are_per_second_where_that_is_a_whole_number) {
  for (const char* const text : {"0", "10/s", "1/min", "30/min", "90/min", "2500/s", "1M/s"}) {
    EXPECT_EQ(text_of_rate(parse_rate(text).value()), text);
  }
  EXPECT_EQ(text_of_rate(parse_rate("60/min").value()), "1/s");
}

TEST(ValueText, fractions_have_as_few_digits_as_read_the_same) {
  EXPECT_EQ(text_of(0.002), "0.2%");
  EXPECT_EQ(text_of(0.0001), "0.01%");
  EXPECT_EQ(text_of(0.0), "0%");
  EXPECT_EQ(text_of(1.0), "100%");
}

TEST(ValueText, any_value_reads_as_the_same_again) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 2000; ++round) {
    const std::uint64_t number = random() >> (random() % 64);
    EXPECT_EQ(parse_count(text_of(number)), number);
    EXPECT_EQ(parse_bytes(text_of_bytes(number)), number);
    const milliseconds duration(static_cast<std::int64_t>(number % 31'536'000'000));
    EXPECT_EQ(parse_duration(text_of(duration)), duration);
    const double fraction =
        parse_fraction(text_of(number % 1000) + "." + text_of(number % 99'991) + "%").value();
    EXPECT_EQ(parse_fraction(text_of(fraction)), fraction);
  }
}

TEST(ValueText, absent_replies_are_text_where_they_can_be) {
  for (const char* const text : {"nil", "go-zero", "bytes:x y", "hex:00ff", "bytes:"}) {
    EXPECT_EQ(text_of(parse_absent_reply(text).value()), text);
  }
  EXPECT_EQ(text_of(parse_absent_reply("hex:41").value()), "bytes:A");
  EXPECT_EQ(text_of(std::optional<AbsentReply>{}), std::nullopt);
}

}  // namespace
}  // namespace cuckooguard::config
