#include "text/little_endian.h"

#include <cstdint>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace cuckooguard::text {
namespace {

std::string some() {
  std::string bytes;
  put(bytes, std::uint8_t{0xfe});
  put(bytes, std::uint32_t{0x01020304});
  put_text(bytes, "ab");
  put_long_text(bytes, "c");
  return bytes;
}

TEST(LittleEndian, has_the_lowest_byte_first_and_lengths_before_texts) {
  using namespace std::string_view_literals;
  EXPECT_EQ(some(), "\xfe\x04\x03\x02\x01\x02\0\0\0ab\x01\0\0\0\0\0\0\0c"sv);
}

TEST(LittleEndian, comes_back_unless_there_are_too_few_bytes) {
  for (const std::string bytes = some();
       const std::size_t size : {bytes.size(), bytes.size() - 1}) {
    LittleEndianCursor cursor(std::string_view(bytes).substr(0, size));
    EXPECT_EQ(cursor.take<std::uint8_t>(), 0xfe);
    EXPECT_EQ(cursor.take<std::uint32_t>(), 0x01020304U);
    EXPECT_EQ(cursor.take_text(), "ab");
    EXPECT_EQ(cursor.take_long_text(), size == bytes.size() ? "c" : "");
    EXPECT_EQ(cursor.ok(), size == bytes.size());
    EXPECT_EQ(cursor.take<std::uint64_t>(), 0U);
    EXPECT_FALSE(cursor.ok());
  }
}

}  // namespace
}  // namespace cuckooguard::text
