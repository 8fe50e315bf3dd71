#include "filter/key_hash.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "filter/cuckoo_filter.h"
#include "filter/hashes.h"

namespace cuckooguard::filter {
namespace {

using testing::fixed_secret;

TEST(KeyHash, is_the_same_for_the_same_secret_and_identity) {
  const KeyHash one(fixed_secret(1));
  const KeyHash same(fixed_secret(1));
  EXPECT_EQ(one("42"), same("42"));
  EXPECT_NE(one("42"), one("43"));
  EXPECT_NE(one(""), one(std::string_view("\0", 1)));
}

TEST(KeyHash, differs_under_another_secret_at_every_length) {
  const KeyHash one(fixed_secret(1));
  const KeyHash other(fixed_secret(2));
  for (std::size_t length = 0; length < 600; ++length) {
    const std::string identity(length, 'x');
    EXPECT_NE(one(identity), other(identity)) << length;
  }
}

TEST(KeyHash, every_random_secret_is_new) {
  std::set<std::uint64_t> ids;
  for (int i = 0; i < 100; ++i) {
    ids.insert(random_secret().id());
  }
  EXPECT_EQ(ids.size(), 100);
}

TEST(KeyHash, two_processes_have_different_false_positives) {
  CuckooFilter one(sizing_for(Layout::w8, 20'000, DeleteMode::trusted), random_secret());
  CuckooFilter other(sizing_for(Layout::w8, 20'000, DeleteMode::trusted), random_secret());
  for (int i = 0; i < 20'000; ++i) {
    one.insert(one.hash(std::to_string(i)));
    other.insert(other.hash(std::to_string(i)));
  }
  int in_one = 0;
  int in_both = 0;
  for (int i = 20'000; i < 120'000; ++i) {
    const std::string identity = std::to_string(i);
    if (one.may_contain(one.hash(identity))) {
      ++in_one;
      in_both += other.may_contain(other.hash(identity)) ? 1 : 0;
    }
  }
  EXPECT_GT(in_one, 2000);
  EXPECT_LT(in_both, in_one / 10) << "3 % of 3 %, by chance";
}

}  // namespace
}  // namespace cuckooguard::filter
