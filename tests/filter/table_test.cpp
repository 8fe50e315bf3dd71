// What every table stands on: bucket arithmetic and addressing.

#include "filter/table.h"

#include <algorithm>
#include <bit>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "filter/addressing.h"
#include "filter/bucket.h"
#include "filter/hashes.h"

namespace cuckooguard::filter {
namespace {

template <class Bucket>
class EveryBucket : public ::testing::Test {};

using Buckets = ::testing::Types<Bucket<Layout::w8>,
                                 Bucket<Layout::w10>,
                                 Bucket<Layout::w12>,
                                 Bucket<Layout::w15>,
                                 Bucket<Layout::w16>,
                                 Bucket<Layout::w20>>;
TYPED_TEST_SUITE(EveryBucket, Buckets);

// Few different fingerprints, extreme ones among them, so that equal slots and borrows are common.
TYPED_TEST(EveryBucket, agrees_with_slots_looked_at_one_by_one) {
  std::mt19937_64 random(1);
  const std::vector<std::uint64_t> fingerprints{
      0, 1, 2, TypeParam::kFingerprintMax / 2 + 1, TypeParam::kFingerprintMax};
  for (int round = 0; round < 20'000; ++round) {
    std::uint64_t word = 0;
    std::vector<std::uint64_t> slots;
    for (unsigned slot = 0; slot < TypeParam::kSlots; ++slot) {
      slots.push_back(fingerprints[random() % fingerprints.size()]);
      word = TypeParam::with(word, slot, slots.back());
    }
    if (TypeParam::kOverflowBits != 0) {
      word |= random() << (TypeParam::kOverflowShift % 64);
    }
    for (const std::uint64_t wanted : fingerprints) {
      const auto first = std::ranges::find(slots, wanted) - slots.begin();
      ASSERT_EQ(TypeParam::find(word, wanted), first);
      ASSERT_EQ(TypeParam::contains(word, wanted), first != TypeParam::kSlots);
      ASSERT_EQ(TypeParam::count(word, wanted), std::ranges::count(slots, wanted));
    }
    for (unsigned slot = 0; slot < TypeParam::kSlots; ++slot) {
      ASSERT_EQ(TypeParam::get(word, slot), slots[slot]);
      const std::uint64_t changed = TypeParam::with(word, slot, 1);
      ASSERT_EQ(TypeParam::get(changed, slot), 1);
      ASSERT_EQ(TypeParam::with(changed, slot, slots[slot]), word) << "touches nothing else";
    }
  }
}

TYPED_TEST(EveryBucket, overflow_bits_are_beside_the_slots_and_one_per_class) {
  std::uint64_t seen = 0;
  for (std::uint64_t fingerprint = 1; fingerprint <= TypeParam::kFingerprintMax; ++fingerprint) {
    const std::uint64_t bit = TypeParam::overflow_bit(fingerprint);
    ASSERT_EQ(bit & TypeParam::in_every_slot(TypeParam::kFingerprintMax), 0);
    ASSERT_TRUE(TypeParam::overflowed(bit, fingerprint));
    seen |= bit;
  }
  EXPECT_EQ(std::popcount(seen), TypeParam::kOverflowBits);
  EXPECT_EQ(TypeParam::overflowed(0, 1), TypeParam::kOverflowBits == 0) << "W16 always looks twice";
}

TEST(Addressing, the_other_bucket_of_the_other_bucket_is_the_first_and_never_the_same) {
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> sizes{2, 4, 6, 10, kBucketsMax, kBucketsMax - 2};
  for (int i = 0; i < 200; ++i) {
    sizes.push_back(2 + 2 * (random() % 5'000'000));
  }
  for (const std::uint64_t buckets : sizes) {
    const Addressing addressing(buckets);
    for (int i = 0; i < 500; ++i) {
      const std::uint64_t first = addressing.first_bucket(random());
      const std::uint64_t fingerprint = Addressing::fingerprint(random(), (1U << 20) - 1);
      const std::uint64_t other = addressing.other_bucket(first, fingerprint);
      ASSERT_LT(first, buckets);
      ASSERT_LT(other, buckets);
      ASSERT_NE(first, other);
      ASSERT_EQ(addressing.other_bucket(other, fingerprint), first);
    }
  }
}

TEST(Addressing, uses_the_whole_range_of_buckets_and_fingerprints) {
  const Addressing addressing(1000);
  EXPECT_EQ(addressing.first_bucket(0), 0);
  EXPECT_EQ(addressing.first_bucket(~0ULL), 999);
  EXPECT_EQ(Addressing::fingerprint(0, 255), 1);
  EXPECT_EQ(Addressing::fingerprint(~0ULL, 255), 255);
  const std::uint64_t hash = testing::crafted_hash(1000, 321, 255, 17);
  EXPECT_EQ(addressing.first_bucket(hash), 321);
  EXPECT_EQ(Addressing::fingerprint(hash, 255), 17);
}

TEST(Table, fills_to_the_load_it_is_sized_for_and_beyond_without_a_stash) {
  for (const Layout layout : kLayouts) {
    const auto table = make_table({.layout = layout, .buckets = 20'000});
    const double slots = 20'000.0 * shape_of(layout).slots;
    const auto keys = static_cast<std::uint64_t>(slots * (shape_of(layout).sizing_load + 0.01));
    for (std::uint64_t i = 0; i < keys; ++i) {
      ASSERT_LE(table->insert(testing::nth_hash(3, i)), InsertOutcome::already_there);
    }
    EXPECT_EQ(table->cells().load_stash_mask(), 0);
  }
}

}  // namespace
}  // namespace cuckooguard::filter
