#include "resp/reply_writer.h"

#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace cuckooguard::resp {
namespace {

template <typename Append>
std::string written(Append append) {
  std::string out = "before|";
  append(out);
  EXPECT_TRUE(out.starts_with("before|")) << "writers append";
  return out.substr(7);
}

TEST(ReplyWriter, nulls_differ_by_version_and_kind) {
  EXPECT_EQ(written([](auto& out) { append_nil(out, Version::resp2); }), "$-1\r\n");
  EXPECT_EQ(written([](auto& out) { append_nil(out, Version::resp3); }), "_\r\n");
  EXPECT_EQ(written([](auto& out) { append_null_array(out, Version::resp2); }), "*-1\r\n");
  EXPECT_EQ(written([](auto& out) { append_null_array(out, Version::resp3); }), "_\r\n");
}

TEST(ReplyWriter, bulk_strings_carry_any_bytes) {
  EXPECT_EQ(written([](auto& out) { append_bulk(out, ""); }), "$0\r\n\r\n");
  EXPECT_EQ(written([](auto& out) { append_bulk(out, "a\r\nb"); }), "$4\r\na\r\nb\r\n");
  EXPECT_EQ(written([](auto& out) { append_bulk(out, std::string_view("\0", 1)); }),
            std::string("$1\r\n\0\r\n", 7));
}

TEST(ReplyWriter, integers_cover_all_64_bits) {
  EXPECT_EQ(written([](auto& out) { append_integer(out, 0); }), ":0\r\n");
  EXPECT_EQ(
      written([](auto& out) { append_integer(out, std::numeric_limits<std::int64_t>::min()); }),
      ":-9223372036854775808\r\n");
  EXPECT_EQ(
      written([](auto& out) { append_integer(out, std::numeric_limits<std::int64_t>::max()); }),
      ":9223372036854775807\r\n");
}

TEST(ReplyWriter, a_line_stays_one_line) {
  EXPECT_EQ(written([](auto& out) { append_simple(out, "OK"); }), "+OK\r\n");
  EXPECT_EQ(written([](auto& out) { append_error(out, "ERR no\r\n+OK"); }), "-ERR no  +OK\r\n");
  EXPECT_EQ(written([](auto& out) { append_simple(out, "a\nb"); }), "+a b\r\n");
}

TEST(ReplyWriter, headers_count_what_follows) {
  EXPECT_EQ(written([](auto& out) { append_array_header(out, 3); }), "*3\r\n");
  EXPECT_EQ(written([](auto& out) { append_set_header(out, Version::resp2, 3); }), "*3\r\n");
  EXPECT_EQ(written([](auto& out) { append_set_header(out, Version::resp3, 3); }), "~3\r\n");
  EXPECT_EQ(written([](auto& out) { append_map_header(out, Version::resp2, 3); }), "*6\r\n");
  EXPECT_EQ(written([](auto& out) { append_map_header(out, Version::resp3, 3); }), "%3\r\n");
  EXPECT_EQ(
      written([](auto& out) { append_array_header(out, std::numeric_limits<std::size_t>::max()); }),
      "*18446744073709551615\r\n");
}

TEST(ReplyWriter, resp2_gets_the_nearest_of_what_only_resp3_has) {
  EXPECT_EQ(written([](auto& out) { append_boolean(out, Version::resp2, true); }), ":1\r\n");
  EXPECT_EQ(written([](auto& out) { append_boolean(out, Version::resp2, false); }), ":0\r\n");
  EXPECT_EQ(written([](auto& out) { append_boolean(out, Version::resp3, true); }), "#t\r\n");
  EXPECT_EQ(written([](auto& out) { append_boolean(out, Version::resp3, false); }), "#f\r\n");
  EXPECT_EQ(written([](auto& out) { append_verbatim_text(out, Version::resp2, "hi"); }),
            "$2\r\nhi\r\n");
  EXPECT_EQ(written([](auto& out) { append_verbatim_text(out, Version::resp3, "hi"); }),
            "=6\r\ntxt:hi\r\n");
}

TEST(ReplyWriter, a_command_is_an_array_of_bulk_strings) {
  const std::vector<std::string_view> arguments = {"GET", "k", ""};
  EXPECT_EQ(written([&](auto& out) { append_command(out, arguments); }),
            "*3\r\n$3\r\nGET\r\n$1\r\nk\r\n$0\r\n\r\n");
}

}  // namespace
}  // namespace cuckooguard::resp
