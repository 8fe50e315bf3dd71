#include "redis/word.h"

#include <gtest/gtest.h>

namespace cuckooguard::redis {
namespace {

TEST(Word, is_read_in_any_case) {
  EXPECT_TRUE(is_word("limit", "limit"));
  EXPECT_TRUE(is_word("LIMIT", "limit"));
  EXPECT_TRUE(is_word("LiMiT", "limit"));
}

TEST(Word, of_other_letters_or_length_is_another) {
  EXPECT_FALSE(is_word("limi", "limit"));
  EXPECT_FALSE(is_word("limits", "limit"));
  EXPECT_FALSE(is_word("", "limit"));
  EXPECT_FALSE(is_word("l@mit", "l`mit")) << "one bit apart, and no letters";
  EXPECT_FALSE(is_word("[", "{"));
}

}  // namespace
}  // namespace cuckooguard::redis
