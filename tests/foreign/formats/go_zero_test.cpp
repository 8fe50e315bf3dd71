#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "foreign/formats/items.h"
#include "formats/bitmap_filter.h"
#include "formats/formats.h"
#include "formats/hashes.h"

namespace cuckooguard::foreign {
namespace {

using namespace testing;

constexpr std::uint64_t kBits = 200'003;  // 20 an item, as go-zero recommends, and odd

std::vector<std::uint64_t> offsets(std::string_view item, std::uint64_t bits) {
  std::vector<std::uint64_t> all;
  for (char i = 0; i < 14; ++i) {
    all.push_back(Murmur3X64(std::string(item) + i).hash().low % bits);
  }
  return all;
}

RedisBitmap made(int members, std::uint64_t bits) {
  RedisBitmap bitmap;
  for (int i = 0; i < members; ++i) {
    for (const std::uint64_t offset : offsets(member(i), bits)) {
      bitmap.set(offset);
    }
  }
  return bitmap;
}

TEST(GoZero, agrees_with_its_definition) {
  for (const std::uint64_t bits : {kBits, kBits / 2}) {  // and an overfull one
    const RedisBitmap bitmap = made(kMembers, bits);
    const auto filter = read_go_zero(bitmap.bytes(), bits);
    ASSERT_TRUE(filter) << filter.error();
    expect_agrees_at_its_rate(**filter, [&](std::string_view item) {
      return std::ranges::all_of(offsets(item, bits),
                                 [&](std::uint64_t offset) { return bitmap.get(offset); });
    });
  }
}

TEST(GoZero, facts_are_those_of_the_bitmap) {
  const auto filter = read_go_zero(made(kMembers, kBits).bytes(), kBits);
  ASSERT_TRUE(filter);
  const Facts facts = (*filter)->facts();
  EXPECT_EQ(facts.format, "go-zero");
  EXPECT_EQ(facts.bits_or_slots, kBits);
  EXPECT_EQ(facts.hashes, 14);
  EXPECT_EQ(facts.bytes, (kBits + 7) / 8);
  EXPECT_EQ(facts.items, std::nullopt);
  // 1 - e^(-k n / m)
  EXPECT_NEAR(facts.fill, 1 - std::exp(-14.0 * kMembers / kBits), 0.01);
}

// Redis gives a string bytes only when a bit there is set.
TEST(GoZero, a_short_bitmap_has_zeros_behind_it) {
  const auto none = read_go_zero("", kBits);
  ASSERT_TRUE(none);
  EXPECT_FALSE((*none)->may_contain(member(0)));
  EXPECT_EQ((*none)->facts().fill, 0);
  const RedisBitmap one = made(1, kBits);
  ASSERT_LT(one.bytes().size(), kBits / 8);
  const auto filter = read_go_zero(one.bytes(), kBits);
  ASSERT_TRUE(filter);
  EXPECT_TRUE((*filter)->may_contain(member(0)));
  EXPECT_FALSE((*filter)->may_contain(member(1)));
}

TEST(GoZero, what_is_added_sets_the_bits_that_it_would_set) {
  const auto filter = read_go_zero("", kBits).value();
  EXPECT_EQ(add_members(*filter), 0);
  const RedisBitmap bitmap = made(kMembers, kBits);
  EXPECT_EQ(filter->bytes(), bitmap.bytes());
  EXPECT_EQ(filter->facts().bytes, bitmap.bytes().size());
  const auto read = read_go_zero(bitmap.bytes(), kBits).value();
  EXPECT_EQ(filter->facts().fill, read->facts().fill);
  EXPECT_EQ(filter->facts().false_positive_rate, read->facts().false_positive_rate);
  EXPECT_EQ(add_members(*read), 0) << "and again";
  EXPECT_EQ(read->bytes(), bitmap.bytes());
  expect_agrees_at_its_rate(*filter, [&](std::string_view item) {
    return std::ranges::all_of(offsets(item, kBits),
                               [&](std::uint64_t offset) { return bitmap.get(offset); });
  });
}

TEST(GoZero, a_bitmap_of_another_number_of_bits_is_refused) {
  expect_refused(read_go_zero(made(kMembers, kBits).bytes(), kBits - 8), "bytes, more than ");
  expect_refused(read_go_zero("\xFF", 7), "bit 7 of the bitmap is set");
  EXPECT_TRUE(read_go_zero("\xFE", 7));
  expect_refused(read_go_zero("", 0), "0 are configured");
  expect_refused(read_go_zero("", kRedisBitsMax + 1), "4294967297 are configured");
  EXPECT_TRUE(read_go_zero("", kRedisBitsMax));
}

TEST(GoZero, any_bytes_are_refused_or_a_filter) {
  expect_survives_any_change(made(20, 403).bytes(),
                             [](std::string bytes) { return read_go_zero(std::move(bytes), 403); });
}

}  // namespace
}  // namespace cuckooguard::foreign
