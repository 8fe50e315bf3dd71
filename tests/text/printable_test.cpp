#include "text/printable.h"

#include <string>

#include <gtest/gtest.h>

namespace cuckooguard::text {
namespace {

TEST(Printable, bytes_that_could_forge_a_log_line_are_escaped) {
  EXPECT_EQ(printable("plain text"), R"("plain text")");
  EXPECT_EQ(printable("a\nb\x1b[31m"), R"("a\x0ab\x1b[31m")");
  EXPECT_EQ(printable(R"(say "x\y")"), R"("say \"x\\y\"")");
  EXPECT_EQ(printable(std::string("\0\xff", 2)), R"("\x00\xff")");
}

TEST(Printable, long_text_is_cut_and_its_length_told) {
  EXPECT_EQ(printable(std::string(kPrintableBytesMax, 'x')).size(), kPrintableBytesMax + 2);
  EXPECT_EQ(printable("abcdef", 3), R"("abc"... (6 bytes))");
}

}  // namespace
}  // namespace cuckooguard::text
