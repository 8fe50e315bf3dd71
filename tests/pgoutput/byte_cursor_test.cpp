#include <limits>
#include <string_view>

#include <gtest/gtest.h>

#include "pgoutput/message_decoder.h"

namespace cuckooguard::pgoutput {
namespace {

using namespace std::string_view_literals;

TEST(ByteCursor, reads_integers_big_endian) {
  ByteCursor cursor(
      "\x01\x02\x03\x80\x05\x06\x07\xff\xff\xff\xfe\x01\x02\x03\x04\x05\x06\x07\x08"sv);
  EXPECT_EQ(cursor.u8(), 0x01U);
  EXPECT_EQ(cursor.u16(), 0x0203U);
  EXPECT_EQ(cursor.u32(), 0x80050607U);
  EXPECT_EQ(cursor.i32(), -2);
  EXPECT_EQ(cursor.u64(), 0x0102030405060708U);
  EXPECT_EQ(cursor.left(), 0U);
  EXPECT_TRUE(cursor.ok());
}

TEST(ByteCursor, is_not_ok_for_good_once_it_ran_out) {
  ByteCursor cursor("\x01\x02\x03"sv);
  EXPECT_EQ(cursor.u32(), 0U);
  EXPECT_FALSE(cursor.ok());
  EXPECT_EQ(cursor.u8(), 0U);
  EXPECT_EQ(cursor.left(), 0U);
  EXPECT_EQ(cursor.nul_terminated(), "");
}

TEST(ByteCursor, takes_no_more_bytes_than_there_are_however_many_are_asked_for) {
  ByteCursor cursor("abc"sv);
  EXPECT_EQ(cursor.bytes(std::numeric_limits<std::uint64_t>::max()), "");
  EXPECT_FALSE(cursor.ok());
  ByteCursor other("abc"sv);
  EXPECT_EQ(other.bytes(3), "abc");
  EXPECT_TRUE(other.ok());
}

TEST(ByteCursor, reads_texts_up_to_their_nul) {
  ByteCursor cursor("one\0\0three\0rest"sv);
  EXPECT_EQ(cursor.nul_terminated(), "one");
  EXPECT_EQ(cursor.nul_terminated(), "");
  EXPECT_EQ(cursor.nul_terminated(), "three");
  EXPECT_EQ(cursor.left(), 4U);
  EXPECT_EQ(cursor.nul_terminated(), "");
  EXPECT_FALSE(cursor.ok());
}

TEST(ByteCursor, of_nothing_has_nothing) {
  ByteCursor cursor{{}};
  EXPECT_EQ(cursor.rest(), "");
  EXPECT_TRUE(cursor.ok());
  EXPECT_EQ(cursor.nul_terminated(), "");
  EXPECT_FALSE(cursor.ok());
}

}  // namespace
}  // namespace cuckooguard::pgoutput
