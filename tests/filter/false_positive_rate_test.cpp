// What sizing promises, held to what a filter of a million keys does. Seeds are fixed: no luck.

#include <array>
#include <string>

#include <gtest/gtest.h>

#include "filter/bucket.h"
#include "filter/cuckoo_filter.h"
#include "filter/hashes.h"
#include "filter/table.h"

namespace cuckooguard::filter {
namespace {

using testing::crafted_hash;
using testing::nth_hash;

constexpr std::uint64_t kKeys = 1'000'000;

class EveryLayoutsRate : public ::testing::TestWithParam<Layout> {};

INSTANTIATE_TEST_SUITE_P(FalsePositiveRate,
                         EveryLayoutsRate,
                         ::testing::ValuesIn(kLayouts),
                         [](const auto& layout) {
                           return std::string(shape_of(layout.param).name);
                         });

// The share of all (first bucket, fingerprint) pairs that are found: asks for every pair that can
// be, which are the stored fingerprints, seen from either of their buckets.
template <class Bucket>
double exact_rate(const FilterTable& table) {
  const auto words = table.cells().words();
  const Addressing addressing(words.size());
  std::uint64_t found = 0;
  for (std::uint64_t bucket = 0; bucket < words.size(); ++bucket) {
    for (unsigned slot = 0; slot < Bucket::kSlots; ++slot) {
      const std::uint64_t fingerprint = Bucket::get(words[bucket], slot);
      if (fingerprint == 0 || Bucket::find(words[bucket], fingerprint) != slot) {
        continue;  // free, or counted at its first copy
      }
      const std::uint64_t other = addressing.other_bucket(bucket, fingerprint);
      const auto asked = crafted_hash(words.size(), other, Bucket::kFingerprintMax, fingerprint);
      const bool counted_there = Bucket::contains(words[other], fingerprint);
      found += !counted_there && table.may_contain(asked) ? 2 : 1;
    }
  }
  return static_cast<double>(found) /
         (static_cast<double>(words.size()) * static_cast<double>(Bucket::kFingerprintMax));
}

double exact_rate_of(const FilterTable& table, Layout layout) {
  return with_bucket(layout, [&table](auto bucket) { return exact_rate<decltype(bucket)>(table); });
}

// With so many look-ups that chance is 3 % of the rate.
double sampled_rate(const FilterTable& table, double expected) {
  const auto lookups = static_cast<std::uint64_t>(1000 / expected);
  std::uint64_t found = 0;
  std::array<std::uint64_t, kBatchMax> batch{};
  for (std::uint64_t i = 0; i < lookups; i += batch.size()) {
    for (std::size_t k = 0; k < batch.size(); ++k) {
      batch[k] = nth_hash(2, i + k);
    }
    found += static_cast<std::uint64_t>(__builtin_popcountll(table.may_contain(batch)));
  }
  return static_cast<double>(found) / static_cast<double>(lookups);
}

TEST_P(EveryLayoutsRate, is_within_a_tenth_of_the_prediction_as_filled) {
  const Layout layout = GetParam();
  const Sizing sizing = sizing_for(layout, kKeys, DeleteMode::trusted);
  const auto table = make_table(sizing);
  for (std::uint64_t i = 0; i < kKeys; ++i) {
    ASSERT_LE(table->insert(nth_hash(1, i)), InsertOutcome::already_there);
  }
  const double predicted = predicted_false_positive_rate(layout, shape_of(layout).sizing_load);
  EXPECT_NEAR(exact_rate_of(*table, layout) / predicted, 1, 0.05);
  if (predicted > 1e-5) {  // W20 would take 300 million look-ups
    EXPECT_NEAR(sampled_rate(*table, predicted) / predicted, 1, 0.1);
  }
  EXPECT_NEAR(table->overflow_share(),
              predicted_overflow_share(layout, shape_of(layout).sizing_load),
              0.01);
}

TEST_P(EveryLayoutsRate, stays_under_the_lasting_rate_when_every_key_has_been_replaced) {
  const Layout layout = GetParam();
  constexpr std::uint64_t kFewer = 100'000;
  const auto table = make_table(sizing_for(layout, kFewer, DeleteMode::trusted));
  for (std::uint64_t i = 0; i < kFewer; ++i) {
    table->insert(nth_hash(1, i));
  }
  for (std::uint64_t i = 0; i < 3 * kFewer; ++i) {
    table->erase(nth_hash(1, i));
    table->insert(nth_hash(1, i + kFewer));
  }
  const double lasting = lasting_false_positive_rate(layout, shape_of(layout).sizing_load);
  const double rate = exact_rate_of(*table, layout);
  EXPECT_LT(rate, lasting * 1.05);
  EXPECT_GT(rate, lasting * 0.7) << "overflow bits do fill up; see sizing.h";
}

}  // namespace
}  // namespace cuckooguard::filter
