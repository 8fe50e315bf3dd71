#include "guard/absent_reply.h"

#include <string>

#include <gtest/gtest.h>

namespace cuckooguard::guard {
namespace {

using resp::Version;

TEST(AbsentReply, nil_is_redis_own_null_of_each_version) {
  const AbsentReply nil{config::AbsentReply{}};
  EXPECT_EQ(nil.of_string_read(Version::resp2), "$-1\r\n");
  EXPECT_EQ(nil.of_string_read(Version::resp3), "_\r\n");
}

TEST(AbsentReply, bytes_are_a_bulk_string_in_both_versions) {
  const AbsentReply reply({.nil = false, .bytes = std::string("J\x95:\r\n\0", 6)});
  const std::string expected("$6\r\nJ\x95:\r\n\0\r\n", 12);
  EXPECT_EQ(reply.of_string_read(Version::resp2), expected);
  EXPECT_EQ(reply.of_string_read(Version::resp3), expected);
}

TEST(AbsentReply, no_bytes_are_an_empty_string_and_not_nil) {
  const AbsentReply reply({.nil = false, .bytes = ""});
  EXPECT_EQ(reply.of_string_read(Version::resp2), "$0\r\n\r\n");
  EXPECT_TRUE(reply.is_written_as(""));
}

TEST(AbsentReply, only_its_own_bytes_are_a_write_of_it) {
  const AbsentReply reply({.nil = false, .bytes = "*"});
  EXPECT_TRUE(reply.is_written_as("*"));
  EXPECT_FALSE(reply.is_written_as("**"));
  EXPECT_FALSE(reply.is_written_as(""));
}

TEST(AbsentReply, nothing_that_can_be_written_is_nil) {
  const AbsentReply nil{config::AbsentReply{}};
  EXPECT_FALSE(nil.is_written_as(""));
  EXPECT_FALSE(nil.is_written_as("$-1\r\n"));
}

}  // namespace
}  // namespace cuckooguard::guard
