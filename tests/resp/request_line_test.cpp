#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "resp/fast_line.h"
#include "resp/request_scanner.h"

namespace cuckooguard::resp {
namespace {

constexpr LineRules kAnyNumber{.type = '*',
                               .min = std::numeric_limits<std::int64_t>::min(),
                               .max = std::numeric_limits<std::int64_t>::max(),
                               .unauthenticated_max = 10,
                               .too_long = "too long",
                               .invalid = "invalid",
                               .unauthenticated = "unauthenticated"};

RequestLine read(std::string_view input, bool authenticated = true) {
  std::size_t searched = 0;
  return read_request_line(input, kAnyNumber, authenticated, searched);
}

TEST(RequestLine, takes_the_numbers_that_redis_takes) {
  EXPECT_EQ(read("*0\r\n").number, 0);
  EXPECT_EQ(read("*1\r\n").number, 1);
  EXPECT_EQ(read("*-1\r\n").number, -1);
  EXPECT_EQ(read("*1234567890\r\n").number, 1234567890);
  EXPECT_EQ(read("*9223372036854775807\r\n").number, std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(read("*-9223372036854775808\r\n").number, std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(read("*-9223372036854775808\r\n").outcome, LineOutcome::complete);
  EXPECT_EQ(read("*17\r\n$3").bytes, 5);
}

TEST(RequestLine, refuses_the_numbers_that_redis_refuses) {
  for (const std::string_view number : {"",
                                        "-",
                                        "-0",
                                        "00",
                                        "01",
                                        "-01",
                                        "+1",
                                        " 1",
                                        "1 ",
                                        "1x",
                                        "x",
                                        "1\n",
                                        "--1",
                                        "0x1",
                                        "1.0",
                                        "9223372036854775808",
                                        "-9223372036854775809",
                                        "99999999999999999999",
                                        "000000000000000000001",
                                        "100000000000000000000000000"}) {
    const RequestLine line = read("*" + std::string(number) + "\r\n");
    EXPECT_EQ(line.outcome, LineOutcome::refused) << number;
    EXPECT_EQ(line.error, "invalid") << number;
  }
}

TEST(RequestLine, looks_only_at_the_cr_of_its_end) {
  const RequestLine line = read("*1\rX$4");
  EXPECT_EQ(line.outcome, LineOutcome::complete);
  EXPECT_EQ(line.bytes, 4);
  EXPECT_EQ(read("*1\r").outcome, LineOutcome::incomplete);
}

TEST(RequestLine, looks_at_its_first_byte_once_the_line_is_there) {
  EXPECT_EQ(read("foo").outcome, LineOutcome::incomplete);
  EXPECT_EQ(read("foo\r").outcome, LineOutcome::incomplete);
  EXPECT_EQ(read("foo\r\n").outcome, LineOutcome::wrong_type);
  EXPECT_EQ(read("\r\n").outcome, LineOutcome::wrong_type);
}

TEST(RequestLine, an_unauthenticated_client_has_its_own_limit_behind_the_general_one) {
  EXPECT_EQ(read("*10\r\n", false).outcome, LineOutcome::complete);
  EXPECT_EQ(read("*11\r\n", false).error, "unauthenticated");
  EXPECT_EQ(read("*x\r\n", false).error, "invalid");
  EXPECT_EQ(read("*-11\r\n", false).outcome, LineOutcome::complete);
}

TEST(RequestLine, ends_within_64_KiB) {
  std::size_t searched = 0;
  const std::string longest = std::string(kLineBytesMax, 'a') + "\n";
  EXPECT_EQ(find_line_end(longest, '\n', searched), kLineBytesMax);
  searched = 0;
  EXPECT_EQ(find_line_end("a" + longest, '\n', searched), std::string_view::npos);
  EXPECT_EQ(read(std::string(kLineBytesMax, '1')).outcome, LineOutcome::incomplete);
  EXPECT_EQ(read(std::string(kLineBytesMax + 1, '1')).error, "too long");
}

TEST(RequestLine, a_nul_hides_the_end) {
  const std::string line("ab\0cd\n", 6);
  std::size_t searched = 0;
  EXPECT_EQ(find_line_end(line, '\n', searched), std::string_view::npos);
  EXPECT_EQ(find_line_end(line + "\n", '\n', searched), std::string_view::npos);
  searched = 0;
  EXPECT_EQ(find_line_end(std::string("ab\n\0", 4), '\n', searched), 2);
}

TEST(RequestLine, is_searched_from_where_the_last_search_ended) {
  std::size_t searched = 0;
  EXPECT_EQ(find_line_end("abc", '\n', searched), std::string_view::npos);
  EXPECT_EQ(searched, 3);
  EXPECT_EQ(find_line_end("\n\n\n\n", '\n', searched), 3) << "what was searched is not read again";
}

TEST(UsualLine, is_a_canonical_number_of_up_to_nine_digits_and_a_whole_line_end) {
  const auto read_usual = [](std::string_view line) -> std::int64_t {
    std::uint32_t number = 0;
    const char* const begin = line.data();
    const char* const end = begin + line.size();
    return read_fast_line(begin, end, number) == end ? std::int64_t{number} : -1;
  };
  EXPECT_EQ(read_usual("$0\r\n"), 0);
  EXPECT_EQ(read_usual("$7\r\n"), 7);
  EXPECT_EQ(read_usual("$19\r\n"), 19);
  EXPECT_EQ(read_usual("*999999999\r\n"), 999999999);
  for (const std::string_view other : {"",
                                       "$",
                                       "$1",
                                       "$1\r",
                                       "$\r\n",
                                       "$12\r",
                                       "$-1\r\n",
                                       "$01\r\n",
                                       "$00\r\n",
                                       "$1x\r\n",
                                       "$x\r\n",
                                       "$1\rx",
                                       "$1\n\n",
                                       "$10\rx",
                                       "$4294967296\r\n",
                                       "$1000000000\r\n",
                                       "$:\r\n",
                                       "$/\r\n"}) {
    EXPECT_EQ(read_usual(other), -1) << other;
  }
}

}  // namespace
}  // namespace cuckooguard::resp
