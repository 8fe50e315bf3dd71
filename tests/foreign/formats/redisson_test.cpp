#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "foreign/formats/items.h"
#include "formats/formats.h"
#include "formats/hashes.h"

namespace cuckooguard::foreign {
namespace {

using namespace testing;

constexpr HighwayKey kKey{
    0x9e3779b97f4a7c15, 0xf39cc0605cedc834, 0x1082276bf3a27251, 0xf86c6a11d0c18e95};

// The i-th has had `high` added as often as there are even numbers before it, `low` for odd ones.
std::vector<std::uint64_t> offsets(std::string_view item, Shape shape) {
  const Hash128 hash = highway_hash_128(item, kKey);
  std::vector<std::uint64_t> all;
  for (std::uint64_t i = 0; i < shape.hashes; ++i) {
    const std::uint64_t sum = hash.low + (i + 1) / 2 * hash.high + i / 2 * hash.low;
    all.push_back((sum << 1U >> 1U) % shape.bits);
  }
  return all;
}

RedisBitmap made(int members, Shape shape) {
  RedisBitmap bitmap;
  for (int i = 0; i < members; ++i) {
    for (const std::uint64_t offset : offsets(member(i), shape)) {
      bitmap.set(offset);
    }
  }
  return bitmap;
}

TEST(Redisson, agrees_with_its_definition) {
  for (const double probability : {0.03, 0.2}) {
    const Shape shape = redisson_shape(kMembers, probability).value();
    const RedisBitmap bitmap = made(kMembers, shape);
    const auto filter = read_redisson(bitmap.bytes(), shape);
    ASSERT_TRUE(filter) << filter.error();
    EXPECT_NEAR((*filter)->facts().false_positive_rate, probability, probability / 10);
    EXPECT_EQ((*filter)->facts().format, "redisson");
    expect_agrees_at_its_rate(**filter, [&](std::string_view item) {
      return std::ranges::all_of(offsets(item, shape),
                                 [&](std::uint64_t offset) { return bitmap.get(offset); });
    });
  }
}

TEST(Redisson, what_is_added_sets_the_bits_that_it_would_set) {
  const Shape shape = redisson_shape(kMembers, 0.03).value();
  const auto filter = read_redisson("", shape).value();
  EXPECT_EQ(add_members(*filter), 0);
  const RedisBitmap bitmap = made(kMembers, shape);
  EXPECT_EQ(filter->bytes(), bitmap.bytes());
  EXPECT_NEAR(filter->facts().false_positive_rate, 0.03, 0.003);
  expect_agrees_at_its_rate(*filter, [&](std::string_view item) {
    return std::ranges::all_of(offsets(item, shape),
                               [&](std::uint64_t offset) { return bitmap.get(offset); });
  });
}

// RBloomFilter.tryInit(55000000, 0.03), the example of Redisson's documentation: 401,421,834 bits
// are -n ln p / ln2^2, cut off.
TEST(Redisson, shape_is_that_of_try_init) {
  const auto documented = redisson_shape(55'000'000, 0.03);
  ASSERT_TRUE(documented);
  EXPECT_EQ(documented->bits,
            static_cast<std::uint64_t>(-55'000'000 * std::log(0.03) / std::pow(std::log(2.0), 2)));
  EXPECT_EQ(documented->hashes, 5);
  EXPECT_EQ(redisson_shape(100, 0.01)->bits, 958);  // 958.5
  EXPECT_EQ(redisson_shape(100, 0.01)->hashes, 7);
  EXPECT_EQ(redisson_shape(1000, 0.9)->hashes, 1);  // 0.15 rounds to none
  // 0 stands for the smallest double.
  EXPECT_EQ(redisson_shape(10, 0)->bits, 15'494);
  EXPECT_EQ(redisson_shape(10, 0)->hashes, 1074);
}

TEST(Redisson, what_try_init_refuses_is_refused) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  for (const double probability : {-0.1, 1.1, kNan}) {
    EXPECT_FALSE(redisson_shape(100, probability)) << probability;
  }
  EXPECT_FALSE(redisson_shape(100, 1));
  EXPECT_FALSE(redisson_shape(0, 0.01));
  EXPECT_FALSE(redisson_shape(-5, 0.01));
  EXPECT_FALSE(redisson_shape(std::numeric_limits<std::int64_t>::max(), 0.01));
  EXPECT_FALSE(redisson_shape(std::numeric_limits<std::int64_t>::min(), 0.01));
}

TEST(Redisson, another_shape_is_refused) {
  const Shape shape = redisson_shape(kMembers, 0.03).value();
  const std::string bitmap = made(kMembers, shape).bytes();
  expect_refused(read_redisson(bitmap, {.bits = shape.bits / 2, .hashes = 5}), "bytes, more than ");
  expect_refused(read_redisson(bitmap, {.bits = shape.bits, .hashes = 0}), "0 are configured");
  expect_refused(read_redisson(bitmap, {.bits = shape.bits, .hashes = 1076}),
                 "1076 are configured");
  expect_refused(read_redisson("", {.bits = 4'294'967'295, .hashes = 5}), "at most 4294967294");
}

TEST(Redisson, any_bytes_are_refused_or_a_filter) {
  const Shape shape = redisson_shape(20, 0.03).value();
  expect_survives_any_change(made(20, shape).bytes(), [&](std::string bytes) {
    return read_redisson(std::move(bytes), shape);
  });
}

}  // namespace
}  // namespace cuckooguard::foreign
