#include "text/hex.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace cuckooguard::text {
namespace {

TEST(Hex, goes_there_and_back) {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) {
    bytes += static_cast<char>(byte);
  }
  EXPECT_EQ(bytes_of_hex(hex_of(bytes)), bytes);
  EXPECT_EQ(hex_of("\x0a\xff"), "0aff");
  EXPECT_EQ(bytes_of_hex("0AfF"), "\x0a\xff");
}

TEST(Hex, has_two_digits_for_each_byte) {
  for (const std::string_view none : {"1", "0g", "-1", "123", " 1", "+1"}) {
    EXPECT_EQ(bytes_of_hex(none), std::nullopt) << none;
  }
}

}  // namespace
}  // namespace cuckooguard::text
