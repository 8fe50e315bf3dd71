#include "keyspace/identity.h"

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "keyspace/random_keyspace.h"

namespace cuckooguard::keyspace {
namespace {

std::string identity(const std::vector<std::string_view>& values,
                     const std::vector<ValueType>& types) {
  std::vector<char> room(identity_bytes_max(values));
  return std::string(write_identity(values, types, room));
}

TEST(Identity, a_single_value_is_viewed_not_copied) {
  const std::string value = "42";
  const std::string_view values[] = {value};
  const ValueType types[] = {ValueType::uint64};
  EXPECT_EQ(write_identity(values, types, {}).data(), value.data());
}

TEST(Identity, several_values_stand_behind_their_lengths) {
  using namespace std::string_literals;
  EXPECT_EQ(identity({"ab", "c"}, {ValueType::text, ValueType::text}), "\2\0\0\0abc"s);
}

TEST(Identity, ci_values_are_folded_and_trimmed) {
  using namespace std::string_literals;
  EXPECT_EQ(identity({"BoB [\\]^_ @Z "}, {ValueType::text_ci}), "bob [\\]^_ @z");
  EXPECT_EQ(identity({" X  ", "Y "}, {ValueType::text_ci, ValueType::text}), "\2\0\0\0 xY "s);
}

TEST(Identity, its_values_are_what_it_was_made_of) {
  testing::Random random(20261122);
  const std::string alphabet("\0\1\2a:", 5);
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::string> tuple(1 + i % 4U);
    for (std::string& value : tuple) {
      value = testing::random_text(random, alphabet, 5);
    }
    const std::vector<std::string_view> values(tuple.begin(), tuple.end());
    const std::string made = identity(values, std::vector(tuple.size(), ValueType::text));
    ASSERT_EQ(values_of_identity(made, tuple.size()), values);
  }
}

TEST(Identity, different_tuples_never_give_the_same_bytes) {
  testing::Random random(20240601);
  const std::string alphabet("\0\1\2a:", 5);
  std::map<std::string, std::vector<std::string>> seen;
  for (int i = 0; i < 20'000; ++i) {
    std::vector<std::string> tuple(3);
    for (std::string& value : tuple) {
      value = testing::random_text(random, alphabet, 5);
    }
    const std::vector<std::string_view> values(tuple.begin(), tuple.end());
    const auto [first, is_new] =
        seen.emplace(identity(values, std::vector(3, ValueType::text)), tuple);
    ASSERT_TRUE(is_new || first->second == tuple) << "two tuples share one identity";
  }
}

}  // namespace
}  // namespace cuckooguard::keyspace
