#include "redis/read_shape.h"

#include <initializer_list>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace cuckooguard::redis {
namespace {

bool fits(const ReadShape& shape, const std::string& command) {
  std::istringstream stream(command);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) {
    words.push_back(word);
  }
  return shape.fits(std::vector<std::string_view>(words.begin(), words.end()));
}

void expect_fits(const ReadShape& shape, std::initializer_list<std::string> commands) {
  for (const std::string& command : commands) {
    EXPECT_TRUE(fits(shape, command)) << command;
  }
}

void expect_does_not_fit(const ReadShape& shape, std::initializer_list<std::string> commands) {
  for (const std::string& command : commands) {
    EXPECT_FALSE(fits(shape, command)) << command;
  }
}

TEST(ReadShape, words_are_all_there_and_of_their_kind) {
  constexpr ReadShape shape("key integer any");
  expect_fits(shape, {"x k 1 a", "x 1 2 3"});
  expect_does_not_fit(shape, {"x", "x k", "x k 1", "x k a 1", "x k 1 a b"});
}

TEST(ReadShape, a_word_in_capitals_is_itself_in_any_case) {
  constexpr ReadShape shape("USAGE key");
  expect_fits(shape, {"memory usage k", "memory USAGE k", "memory Usage k"});
  expect_does_not_fit(shape,
                      {"memory usag k", "memory usages k", "memory k usage", "memory usage"});
}

TEST(ReadShape, one_of_several_words_is_taken) {
  constexpr ReadShape shape("key [ASC/DESC]");
  expect_fits(shape, {"x k", "x k asc", "x k DESC"});
  expect_does_not_fit(shape, {"x k asc desc", "x k asc/desc", "x k as", "x k /"});
}

TEST(ReadShape, options_come_in_any_order_and_once) {
  constexpr ReadShape shape("key [RANK rank] [COUNT natural] [REV]");
  expect_fits(shape, {"x k", "x k rev", "x k COUNT 1 RANK 2", "x k rev rank -1 count 0"});
  expect_does_not_fit(shape,
                      {"x k rank",
                       "x k rank 0",
                       "x k count -1",
                       "x k rev rev",
                       "x k count 1 count 1",
                       "x k rank 1 2",
                       "x k rev rank",
                       "x k nosuch"});
}

TEST(ReadShape, an_option_in_round_brackets_must_be_there) {
  constexpr ReadShape shape("key (COUNT natural) [REV]");
  expect_fits(shape, {"x k count 1", "x k rev count 1", "x k count 1 rev"});
  expect_does_not_fit(shape, {"x k", "x k rev", "x k count 1 count 1"});
}

TEST(ReadShape, an_option_may_end_with_options) {
  constexpr ReadShape shape("key [integer [integer [BYTE/BIT]]]");
  expect_fits(shape, {"x k", "x k 0", "x k 0 -1", "x k 0 -1 bit"});
  expect_does_not_fit(shape, {"x k bit", "x k 0 bit", "x k 0 1 2", "x k 0 1 bit byte"});
  constexpr ReadShape any_count("key [COUNT positive [ANY]] [ASC/DESC]");
  expect_fits(any_count, {"x k count 1 any asc", "x k desc count 1 any", "x k count 1 asc"});
  expect_does_not_fit(any_count, {"x k any", "x k any count 1", "x k count any"});
}

TEST(ReadShape, a_word_may_repeat_to_the_end) {
  constexpr ReadShape shape("key any...");
  expect_fits(shape, {"x k a", "x k a b c"});
  expect_does_not_fit(shape, {"x", "x k"});
}

TEST(ReadShape, an_option_may_repeat) {
  constexpr ReadShape shape("key [GET bit_type field_offset]...");
  expect_fits(shape, {"x k", "x k get u8 0", "x k get u8 0 GET i4 #1 get i1 2"});
  expect_does_not_fit(shape, {"x k get", "x k get u8", "x k get u8 0 get u8", "x k get u8 0 set"});
}

TEST(ReadShape, as_many_keys_as_are_announced) {
  constexpr ReadShape shape("numkeys keys [WEIGHTS weights] [LIMIT natural]");
  expect_fits(shape,
              {"x 1 a",
               "x 2 a b",
               "x 2 a b weights 1 -inf limit 3",
               "x 1 limit limit 0",
               "x 2 a b limit 0 WEIGHTS 1.5 2"});
  expect_does_not_fit(shape,
                      {"x",
                       "x 1",
                       "x 0",
                       "x 0 a",
                       "x -1 a",
                       "x 01 a",
                       "x 2 a",
                       "x 1 a b",
                       "x 3 a b",
                       "x 2 a b weights 1",
                       "x 2 a b weights 1 2 3",
                       "x 2 a b weights 1 x",
                       "x a b",
                       "x 9223372036854775807 a",
                       "x 18446744073709551616 a",
                       "x 1 a limit -1"});
}

TEST(ReadShape, streams_have_an_id_each) {
  constexpr ReadShape shape("[COUNT integer] (STREAMS streams)");
  expect_fits(shape,
              {"xread streams a 0",
               "xread STREAMS a b 1-2 $",
               "xread count 2 streams a 0",
               "xread streams streams 0"});
  expect_does_not_fit(shape,
                      {"xread",
                       "xread streams",
                       "xread streams a",
                       "xread streams a b 0",
                       "xread streams a >",
                       "xread streams a -",
                       "xread streams a b 0 x",
                       "xread count streams a 0",
                       "xread block 0 streams a 0",
                       "xread streams a 0 count 1",
                       "xread count 1"});
}

TEST(ReadShape, a_second_part_adds_options) {
  constexpr ReadShape shape("key (BYBOX distance distance unit)", "[WITHDIST] [ASC/DESC]");
  expect_fits(shape, {"x k bybox 1 2 km", "x k asc bybox 1 2 km withdist"});
  expect_does_not_fit(shape, {"x k", "x k withdist", "x k bybox 1 km"});
}

TEST(ReadShape, an_empty_argument_is_no_word) {
  constexpr ReadShape shape("key [REV]");
  EXPECT_FALSE(shape.fits(std::vector<std::string_view>{"x", "k", ""}));
  EXPECT_TRUE(shape.fits(std::vector<std::string_view>{"x", ""}));
}

}  // namespace
}  // namespace cuckooguard::redis
