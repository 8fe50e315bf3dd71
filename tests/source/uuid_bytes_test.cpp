#include "source/uuid_bytes.h"

#include <array>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace cuckooguard::source {
namespace {

using config::UuidOrder;

constexpr std::string_view kText = "00112233-4455-6677-8899-aabbccddeeff";

std::string text_of(std::string_view bytes, UuidOrder order) {
  std::array<char, kUuidTextBytes> text{};
  return std::string(write_uuid(bytes, order, text));
}

TEST(UuidBytes, are_in_the_order_of_the_text_or_as_mysql_swaps_them) {
  EXPECT_EQ(hex_of_uuid(kText, UuidOrder::plain), "00112233445566778899aabbccddeeff");
  EXPECT_EQ(hex_of_uuid(kText, UuidOrder::swapped), "66774455001122338899aabbccddeeff");
  std::string bytes;
  for (const unsigned byte : {0x66, 0x77, 0x44, 0x55, 0x00, 0x11, 0x22, 0x33}) {
    bytes += static_cast<char>(byte);
  }
  bytes += "\x88\x99\xaa\xbb\xcc\xdd\xee\xff";
  EXPECT_EQ(text_of(bytes, UuidOrder::swapped), kText);
  EXPECT_EQ(text_of(bytes, UuidOrder::plain), "66774455-0011-2233-8899-aabbccddeeff");
}

TEST(UuidBytes, may_lack_zeros_at_the_end) {
  EXPECT_EQ(text_of("\x01\x02", UuidOrder::plain), "01020000-0000-0000-0000-000000000000");
  EXPECT_EQ(text_of("\x01\x02", UuidOrder::swapped), "00000000-0000-0102-0000-000000000000");
}

TEST(UuidBytes, are_none_of_another_text) {
  for (const std::string_view text : {"",
                                      "00112233445566778899aabbccddeeff",
                                      "00112233-4455-6677-8899-AABBCCDDEEFF",
                                      "00112233-4455-6677-8899-aabbccddeef"}) {
    EXPECT_EQ(hex_of_uuid(text, UuidOrder::plain), "") << text;
  }
}

}  // namespace
}  // namespace cuckooguard::source
