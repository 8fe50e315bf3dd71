// Slots as redis-server 7.0.15 gives them (CLUSTER KEYSLOT).

#include "redis/slot.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

namespace cuckooguard::redis {
namespace {

TEST(Slot, is_that_of_redis) {
  const std::array<std::pair<std::string_view, std::uint16_t>, 15> told{{
      {"", 0},
      {"a", 15495},
      {"b", 3300},
      {"foo", 12182},
      {"123456789", 12739},
      {"user:42", 15880},
      {"\xd0\xba\xd0\xbb\xd1\x8e\xd1\x87", 10303},  // bytes above 127
      {"{user1000}.following", 3443},
      {"foo{bar}{zap}", 5061},  // the first tag
      {"foo{{bar}}zap", 4015},  // which is "{bar"
      {"a}b{c}d", 7365},
      {"foo{}{bar}", 8363},  // an empty one is none, and no other is looked for
      {"{}", 15257},
      {"{a", 10276},
      {"a{b", 13340},
  }};
  for (const auto& [key, slot] : told) {
    EXPECT_EQ(slot_of(key), slot) << key;
  }
}

TEST(Slot, of_several_keys_is_one_if_their_tags_are) {
  using Keys = std::array<std::string_view, 3>;
  EXPECT_TRUE(are_of_one_slot({}));
  EXPECT_TRUE(are_of_one_slot(Keys{"{user:42}:cart", "user:42", "x{user:42}"}));
  EXPECT_FALSE(are_of_one_slot(Keys{"{user:42}:cart", "user:42", "x{user:43}"}));
  EXPECT_FALSE(are_of_one_slot(Keys{"a", "b", "b"}));
}

}  // namespace
}  // namespace cuckooguard::redis
