#include "binlog/xid.h"

#include <string>

#include <gtest/gtest.h>

namespace cuckooguard::binlog {
namespace {

TEST(Xid, keeps_its_parts_apart) {
  const std::string branch("b\0c", 3);
  const Xid xid = Xid::make(7, std::string(64, 'g'), branch).value_or(Xid{});
  EXPECT_EQ(xid.format(), 7U);
  EXPECT_EQ(xid.global(), std::string(64, 'g'));
  EXPECT_EQ(xid.branch(), branch);
}

TEST(Xid, is_another_if_the_same_bytes_are_parted_elsewhere) {
  EXPECT_NE(Xid::make(1, "ab", "c"), Xid::make(1, "a", "bc"));
  EXPECT_NE(Xid::make(1, "a", ""), Xid::make(1, "a", std::string(1, '\0')));
  EXPECT_NE(Xid::make(1, "a", "b"), Xid::make(2, "a", "b"));
  EXPECT_EQ(Xid::make(1, "a", "b"), Xid::make(1, "a", "b"));
}

TEST(Xid, has_a_global_part_and_none_that_is_too_long) {
  EXPECT_FALSE(Xid::make(1, "", "b"));
  EXPECT_FALSE(Xid::make(1, std::string(65, 'g'), ""));
  EXPECT_FALSE(Xid::make(1, "g", std::string(65, 'b')));
}

}  // namespace
}  // namespace cuckooguard::binlog
