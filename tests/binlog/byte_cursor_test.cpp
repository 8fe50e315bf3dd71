#include "binlog/byte_cursor.h"

#include <limits>
#include <string_view>

#include <gtest/gtest.h>

namespace cuckooguard::binlog {
namespace {

using namespace std::string_view_literals;

TEST(ByteCursor, reads_integers_little_endian) {
  ByteCursor cursor("\x01\x02\x03\x04\x05\x06\x07\x80\xff"sv);
  EXPECT_EQ(cursor.u8(), 0x01U);
  EXPECT_EQ(cursor.u16(), 0x0302U);
  EXPECT_EQ(cursor.u48(), 0xff8007060504U);
  EXPECT_TRUE(cursor.at_end());
}

TEST(ByteCursor, reads_eight_bytes_whole) {
  ByteCursor cursor("\xff\xff\xff\xff\xff\xff\xff\xff"sv);
  EXPECT_EQ(cursor.u64(), std::numeric_limits<std::uint64_t>::max());
}

TEST(ByteCursor, is_not_ok_for_good_once_it_ran_out) {
  ByteCursor cursor("\x01\x02\x03"sv);
  EXPECT_EQ(cursor.u32(), 0U);
  EXPECT_FALSE(cursor.ok());
  EXPECT_EQ(cursor.u8(), 0U);
  EXPECT_EQ(cursor.left(), 0U);
  EXPECT_FALSE(cursor.at_end());
}

TEST(ByteCursor, takes_no_more_bytes_than_there_are_however_many_are_asked_for) {
  ByteCursor cursor("abc"sv);
  EXPECT_EQ(cursor.bytes(std::numeric_limits<std::uint64_t>::max()), "");
  EXPECT_FALSE(cursor.ok());
  ByteCursor other("abc"sv);
  EXPECT_EQ(other.bytes(3), "abc");
  EXPECT_TRUE(other.at_end());
}

TEST(ByteCursor, reads_length_encoded_integers_of_every_width) {
  ByteCursor cursor("\xfa\xfc\x01\x02\xfd\x01\x02\x03\xfe\x01\x02\x03\x04\x05\x06\x07\x08"sv);
  EXPECT_EQ(cursor.length_encoded(), 250U);
  EXPECT_EQ(cursor.length_encoded(), 0x0201U);
  EXPECT_EQ(cursor.length_encoded(), 0x030201U);
  EXPECT_EQ(cursor.length_encoded(), 0x0807060504030201U);
  EXPECT_TRUE(cursor.at_end());
}

TEST(ByteCursor, refuses_the_two_markers_that_are_no_length) {
  for (const std::string_view marker : {"\xfb"sv, "\xff"sv}) {
    ByteCursor cursor(marker);
    cursor.length_encoded();
    EXPECT_FALSE(cursor.ok());
  }
}

TEST(ByteCursor, reads_length_encoded_texts) {
  ByteCursor cursor("\x03xyz\x02z"sv);
  EXPECT_EQ(cursor.length_encoded_text(), "xyz");
  EXPECT_EQ(cursor.length_encoded_text(), "");
  EXPECT_FALSE(cursor.ok());
}

TEST(ByteCursor, of_nothing_is_at_its_end) {
  ByteCursor cursor{{}};
  EXPECT_TRUE(cursor.at_end());
  EXPECT_EQ(cursor.rest(), "");
  EXPECT_TRUE(cursor.ok());
}

}  // namespace
}  // namespace cuckooguard::binlog
