// What somebody who chooses keys, or a source that breaks its promise, can do; and what not.

#include <gtest/gtest.h>

#include "filter/bucket.h"
#include "filter/cuckoo_filter.h"
#include "filter/hashes.h"

namespace cuckooguard::filter {
namespace {

using testing::crafted_hash;
using testing::fixed_secret;
using testing::nth_hash;

constexpr std::uint64_t kKeys = 100'000;
constexpr DeleteMode kModes[] = {DeleteMode::trusted, DeleteMode::deferred, DeleteMode::exact};

std::uint64_t hidden_of(const CuckooFilter& filter) {
  std::uint64_t hidden = 0;
  for (std::uint64_t i = 0; i < kKeys; ++i) {
    hidden += filter.may_contain(nth_hash(1, i)) ? 0 : 1;
  }
  return hidden;
}

std::uint64_t hidden_after_erasing_strangers(DeleteMode mode, std::uint64_t strangers) {
  CuckooFilter filter(sizing_for(Layout::w12, kKeys, mode), fixed_secret(1));
  filter.insert(testing::hashes(1, kKeys));
  for (std::uint64_t i = 0; i < strangers; ++i) {
    filter.erase(nth_hash(2, i));
  }
  return hidden_of(filter);
}

TEST(Adversary, erasing_strangers_hides_nothing_in_exact_and_deferred) {
  EXPECT_EQ(hidden_after_erasing_strangers(DeleteMode::exact, 100'000), 0);
  EXPECT_EQ(hidden_after_erasing_strangers(DeleteMode::deferred, 100'000), 0);
}

// This is what "trusted" trusts. The price of a broken promise is the false positive rate, no more.
TEST(Adversary, erasing_strangers_in_trusted_hides_what_the_header_says) {
  constexpr std::uint64_t kStrangers = 100'000;
  const double expected = kStrangers * predicted_false_positive_rate(Layout::w12, 0.95);
  const auto hidden =
      static_cast<double>(hidden_after_erasing_strangers(DeleteMode::trusted, kStrangers));
  EXPECT_GT(hidden, expected / 2);
  EXPECT_LT(hidden, expected * 1.5);
}

TEST(Adversary, a_trusted_source_that_breaks_its_promise_is_noticed) {
  CuckooFilter filter(sizing_for(Layout::w12, kKeys, DeleteMode::trusted), fixed_secret(1));
  filter.insert(testing::hashes(1, kKeys));
  EXPECT_EQ(filter.erase(nth_hash(2, 0)), EraseOutcome::not_found);
  EXPECT_EQ(filter.stats().missing_deletes, 1);
}

TEST(Adversary, one_key_a_thousand_times_leaves_room_for_all_others) {
  for (const DeleteMode mode : kModes) {
    CuckooFilter filter(sizing_for(Layout::w12, kKeys, mode), fixed_secret(1));
    for (int i = 0; i < 1000; ++i) {
      filter.insert(nth_hash(9, 9));
    }
    filter.insert(testing::hashes(1, kKeys - 10));
    EXPECT_EQ(filter.stats().stashed, 0);
    EXPECT_FALSE(filter.stats().full);
  }
}

TEST(Adversary, repeated_events_leave_exact_with_the_rows_it_should_have) {
  CuckooFilter filter(sizing_for(Layout::w12, 1000, DeleteMode::exact), fixed_secret(1));
  filter.insert(nth_hash(1, 0));
  for (int i = 0; i < 10; ++i) {
    filter.insert(nth_hash(1, 1));
    filter.erase(nth_hash(1, 1));
    filter.erase(nth_hash(1, 1));
  }
  EXPECT_TRUE(filter.may_contain(nth_hash(1, 0)));
  EXPECT_FALSE(filter.may_contain(nth_hash(1, 1)));
}

// Whoever knew the secret could send keys of one fingerprint to one pair of buckets.
TEST(Adversary, keys_crafted_to_collide_neither_fill_the_filter_nor_hide_anything) {
  using Bucket = Bucket<Layout::w12>;
  const Sizing sizing = sizing_for(Layout::w12, kKeys, DeleteMode::trusted);
  for (const DeleteMode mode : kModes) {
    Sizing with_mode = sizing;
    with_mode.deletes = mode;
    CuckooFilter filter(with_mode, fixed_secret(1));
    filter.insert(testing::hashes(1, kKeys / 2));
    const std::uint64_t base = crafted_hash(sizing.buckets, 77, Bucket::kFingerprintMax, 5);
    for (std::uint64_t i = 0; i < 1000; ++i) {
      EXPECT_LE(filter.insert(base + i), InsertOutcome::already_there) << "same bucket, same slot";
    }
    for (std::uint64_t i = 0; i < 999; ++i) {
      filter.erase(base + i);
    }
    EXPECT_TRUE(filter.may_contain(base + 999));
    for (std::uint64_t i = 0; i < kKeys / 2; ++i) {
      ASSERT_TRUE(filter.may_contain(nth_hash(1, i)));
    }
  }
}

// Different fingerprints of one bucket: they move elsewhere, and what finds no room is stashed.
TEST(Adversary, keys_crafted_for_one_bucket_are_all_found) {
  using Bucket = Bucket<Layout::w20>;
  for (const DeleteMode mode : kModes) {
    Sizing sizing = sizing_for(Layout::w20, 1000, mode);
    CuckooFilter filter(sizing, fixed_secret(1));
    for (std::uint64_t i = 1; i <= 900; ++i) {
      filter.insert(crafted_hash(sizing.buckets, 3, Bucket::kFingerprintMax, i));
    }
    for (std::uint64_t i = 1; i <= 900; ++i) {
      ASSERT_TRUE(filter.may_contain(crafted_hash(sizing.buckets, 3, Bucket::kFingerprintMax, i)));
    }
  }
}

}  // namespace
}  // namespace cuckooguard::filter
