#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "redis/read_shape.h"

namespace cuckooguard::redis {
namespace {

using enum ArgumentKind;
using Words = std::vector<std::string_view>;

void expect_kind(ArgumentKind kind, const Words& good, const Words& bad) {
  for (const std::string_view argument : good) {
    EXPECT_TRUE(has_kind(argument, kind)) << "good: " << argument;
  }
  for (const std::string_view argument : bad) {
    EXPECT_FALSE(has_kind(argument, kind)) << "bad: " << argument;
  }
}

// What nothing that begins with a digit may look like.
const Words kNoIntegers = {"",
                           " ",
                           "-",
                           "+",
                           "+1",
                           "01",
                           "-0",
                           "-01",
                           "00",
                           "1 ",
                           " 1",
                           "1x",
                           "0x1",
                           "1.0",
                           "1e3",
                           "--1",
                           "1-",
                           "abc",
                           "inf",
                           "$",
                           "(1",
                           "#1",
                           "½",
                           "1,0",
                           "nan",
                           "1\r\n",
                           "9223372036854775808",
                           "-9223372036854775809",
                           "18446744073709551616",
                           "99999999999999999999999999"};

TEST(ReadArgument, integers_are_those_that_redis_would_write_itself) {
  expect_kind(integer,
              {"0", "1", "-1", "10", "-10", "9223372036854775807", "-9223372036854775808"},
              kNoIntegers);
  EXPECT_FALSE(has_kind(std::string_view("1\0", 2), integer));
}

TEST(ReadArgument, integers_of_a_range_end_where_redis_ends_them) {
  for (const ArgumentKind kind : {natural, positive, rank, pick, bit_offset}) {
    expect_kind(kind, {"1", "7"}, kNoIntegers);
  }
  expect_kind(natural, {"0", "9223372036854775807"}, {"-1"});
  expect_kind(positive, {"9223372036854775807"}, {"0", "-1"});
  expect_kind(rank, {"-1", "-7"}, {"0", "-9223372036854775808"});
  expect_kind(pick,
              {"0", "-1", "4611686018427387903", "-4611686018427387903"},
              {"4611686018427387904", "-4611686018427387904", "-9223372036854775808"});
}

TEST(ReadArgument, bits_lie_where_every_configuration_allows_them) {
  expect_kind(bit_offset, {"0", "8388607"}, {"8388608", "-1", "#0"});
  expect_kind(field_offset,
              {"0", "8388607", "#0", "#131071"},
              {"8388608", "-1", "#131072", "#-1", "#", "##1", "#01"});
  expect_kind(bit_type,
              {"i1", "i64", "u1", "u63"},
              {"i0", "i65", "u64", "u0", "i", "8", "I8", "u08", "i-1", "", "f8"});
}

TEST(ReadArgument, numbers_are_doubles_that_are_neither_too_large_nor_too_small) {
  expect_kind(number,
              {"0",
               "-0",
               "1",
               "+1",
               "007",
               "1.5",
               "-1.5",
               "1.",
               "1e5",
               "1E+16",
               "1e-7",
               "inf",
               "+inf",
               "-INF",
               "1234567890123456789.0123456789"},
              {"",
               "+",
               "-",
               ".",
               ".5",
               "e5",
               "1e",
               "1e+",
               "1e100",
               "1e400",
               "nan",
               "-nan",
               "infinity1",
               "0x10",
               " 1",
               "1 ",
               "1,5",
               "--1",
               "+-1",
               "(1",
               "1.2.3",
               "abc",
               "12345678901234567890123456789012345678901"});
}

TEST(ReadArgument, bounds_of_scores_may_exclude_themselves) {
  expect_kind(score, {"1", "(1", "-inf", "(+inf", "(1.5"}, {"", "(", "((1", "[1", "(nan", "(x"});
}

TEST(ReadArgument, bounds_of_names_say_whether_they_belong_to_the_range) {
  expect_kind(lex, {"-", "+", "[", "(", "[a", "(a", "[+"}, {"", "a", "--", "++", "-a", "+a", "1"});
}

TEST(ReadArgument, stream_ids_are_numbers) {
  expect_kind(stream_id,
              {"0", "5", "5-0", "1526985054069-3"},
              {"",
               "-",
               "+",
               "$",
               ">",
               "*",
               "5-",
               "-5",
               "5-*",
               "5-1-1",
               "a",
               "(5",
               "05",
               "5-01",
               "18446744073709551616"});
  expect_kind(stream_end,
              {"-", "+", "0", "5-1", "(5", "(5-1"},
              {"", "(", "(-", "(+", "((5", "[5", "$", ">", "*", "--", "(0", "(0-0"});
}

TEST(ReadArgument, places_lie_on_the_map_of_redis) {
  expect_kind(longitude, {"180", "-180", "+13.361389", "0"}, {"180.1", "-181", "inf", "", "x"});
  expect_kind(latitude, {"85", "-85", "38.1"}, {"85.1", "-86", "90", "-inf", "", "x"});
  expect_kind(distance, {"0", "200", "1.5", "1e3"}, {"-1", "-0", "inf", "", "x", "nan"});
  expect_kind(unit, {"m", "km", "KM", "Ft", "mi"}, {"", "mm", "k", "kmm", "miles"});
}

TEST(ReadArgument, expiries_are_not_too_far_away) {
  expect_kind(seconds, {"1", "60", "4102444800", "9999999999"}, {"0", "-1", "10000000000", ""});
  expect_kind(milliseconds, {"1", "4102444800000", "9999999999000"}, {"0", "-1", "10000000000000"});
  expect_kind(seconds, {}, kNoIntegers);
}

TEST(ReadArgument, anything_may_be_a_name) {
  expect_kind(any, {"", "a", "\r\n", "-1"}, {});
}

}  // namespace
}  // namespace cuckooguard::redis
