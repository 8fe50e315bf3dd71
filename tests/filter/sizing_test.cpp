#include "filter/sizing.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace cuckooguard::filter {
namespace {

TEST(Sizing, the_cheapest_layout_for_a_rate_as_filled) {
  const auto layout_for = [](double rate) {
    return choose_sizing(rate, 1'000'000, DeleteMode::deferred).layout;
  };
  EXPECT_EQ(layout_for(0.05), Layout::w8);
  EXPECT_EQ(layout_for(0.01), Layout::w10);
  EXPECT_EQ(layout_for(0.002), Layout::w12);
  EXPECT_EQ(layout_for(0.0002), Layout::w15);
  EXPECT_EQ(layout_for(0.00012), Layout::w16);
  EXPECT_EQ(layout_for(0.000005), Layout::w20);
}

TEST(Sizing, the_default_rate_gives_w12_in_every_delete_mode) {
  for (const auto mode : {DeleteMode::trusted, DeleteMode::deferred, DeleteMode::exact}) {
    EXPECT_EQ(choose_sizing(0.002, 1'000'000, mode).layout, Layout::w12);
  }
}

TEST(Sizing, the_rate_is_met_at_capacity_and_with_live_deletes_after_any_churn) {
  for (double rate = 0.5; rate > 2 * kFalsePositiveRateMin; rate *= 0.9) {
    const Sizing as_filled = choose_sizing(rate, 1'000'000, DeleteMode::deferred);
    EXPECT_LE(predicted_false_positive_rate(as_filled.layout, as_filled.load), rate);
    const Sizing lasting = choose_sizing(rate, 1'000'000, DeleteMode::trusted);
    EXPECT_LE(lasting_false_positive_rate(lasting.layout, lasting.load), rate);
    EXPECT_GE(lasting.bytes(), as_filled.bytes());
  }
}

TEST(Sizing, a_stricter_rate_never_costs_less) {
  std::uint64_t before = 0;
  for (double rate = 0.5; rate > kFalsePositiveRateMin; rate *= 0.9) {
    const std::uint64_t bytes = choose_sizing(rate, 1'000'000, DeleteMode::deferred).bytes();
    EXPECT_GE(bytes, before) << rate;
    before = bytes;
  }
}

TEST(Sizing, bits_per_key_at_the_sizing_loads) {
  const auto bits = [](Layout layout) {
    return bits_per_key(layout, shape_of(layout).sizing_load);
  };
  EXPECT_NEAR(bits(Layout::w8), 9.6, 0.05);
  EXPECT_NEAR(bits(Layout::w10), 11.2, 0.05);
  EXPECT_NEAR(bits(Layout::w12), 13.5, 0.05);
  EXPECT_NEAR(bits(Layout::w15), 16.8, 0.05);
  EXPECT_NEAR(bits(Layout::w16), 16.8, 0.05);
}

TEST(Sizing, buckets_are_even_and_within_bounds) {
  for (const Layout layout : kLayouts) {
    for (const std::uint64_t items :
         {0ULL, 1ULL, 7ULL, 1000ULL, 99'999'999ULL, 1ULL << 40, ~0ULL}) {
      const Sizing sizing = sizing_for(layout, items, DeleteMode::trusted);
      EXPECT_EQ(sizing.buckets % 2, 0);
      EXPECT_GE(sizing.buckets, 2);
      EXPECT_LE(sizing.buckets, kBucketsMax);
      EXPECT_TRUE(sizing.capacity() >= items || sizing.buckets == kBucketsMax) << items;
    }
  }
}

TEST(Sizing, senseless_rates_are_taken_as_the_nearest) {
  for (const double rate : {-1.0, 0.0, 1e-12}) {
    EXPECT_EQ(choose_sizing(rate, 1000, DeleteMode::deferred).buckets,
              choose_sizing(kFalsePositiveRateMin, 1000, DeleteMode::deferred).buckets);
  }
  EXPECT_EQ(choose_sizing(7, 1000, DeleteMode::deferred).layout, Layout::w8);
}

TEST(Sizing, automatic_capacity_leaves_room_to_grow) {
  EXPECT_EQ(automatic_capacity(0), 1024);
  EXPECT_EQ(automatic_capacity(1'000'000), 1'120'000);
  const Sizing sizing =
      sizing_for(Layout::w12, automatic_capacity(1'000'000), DeleteMode::deferred);
  EXPECT_NEAR(1'000'000 / static_cast<double>(sizing.slots()), 0.85, 0.01);
}

}  // namespace
}  // namespace cuckooguard::filter
