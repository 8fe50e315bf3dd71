#include "pgoutput/lsn.h"

#include <cstdint>
#include <limits>
#include <string_view>

#include <gtest/gtest.h>

namespace cuckooguard::pgoutput {
namespace {

using namespace std::string_view_literals;

TEST(Lsn, is_printed_as_postgresql_does) {
  EXPECT_EQ(Lsn{}.text(), "0/0");
  EXPECT_EQ(Lsn{0x16'b374'd848}.text(), "16/B374D848");
  EXPECT_EQ(Lsn{0x1'0000'000a}.text(), "1/A");
  EXPECT_EQ(Lsn{std::numeric_limits<std::uint64_t>::max()}.text(), "FFFFFFFF/FFFFFFFF");
}

TEST(Lsn, is_read_with_and_without_zeros_in_front_in_either_case) {
  EXPECT_EQ(parse_lsn("0/0"), Lsn{});
  EXPECT_EQ(parse_lsn("16/B374D848"), Lsn{0x16'b374'd848});
  EXPECT_EQ(parse_lsn("16/b374d848"), Lsn{0x16'b374'd848});
  EXPECT_EQ(parse_lsn("00000001/0000000A"), Lsn{0x1'0000'000a});
  EXPECT_EQ(parse_lsn("FFFFFFFF/FFFFFFFF"), Lsn{std::numeric_limits<std::uint64_t>::max()});
}

TEST(Lsn, is_not_read_from_any_other_text) {
  for (const std::string_view text : {""sv,
                                      "/"sv,
                                      "1"sv,
                                      "1/"sv,
                                      "/1"sv,
                                      "1/2/3"sv,
                                      "1/2 "sv,
                                      " 1/2"sv,
                                      "1/ 2"sv,
                                      "1/-2"sv,
                                      "+1/2"sv,
                                      "0x1/2"sv,
                                      "1/g"sv,
                                      "1/2\0"sv,
                                      "100000000/0"sv,
                                      "0/100000000"sv,
                                      "000000001/2"sv}) {
    EXPECT_FALSE(parse_lsn(text)) << text;
  }
}

TEST(Lsn, is_ordered_by_its_place_in_the_log) {
  EXPECT_LT(*parse_lsn("9/FFFFFFFF"), *parse_lsn("A/0"));
  EXPECT_LT(*parse_lsn("FFFFFFFE/0"), *parse_lsn("FFFFFFFF/0"));
}

}  // namespace
}  // namespace cuckooguard::pgoutput
