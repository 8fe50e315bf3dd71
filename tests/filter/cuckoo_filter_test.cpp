#include "filter/cuckoo_filter.h"

#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "filter/hashes.h"

namespace cuckooguard::filter {
namespace {

using testing::fixed_secret;
using testing::nth_hash;

const HashSecret kSecret = fixed_secret(1);

using LayoutAndMode = std::tuple<Layout, DeleteMode>;

std::string name_of(const ::testing::TestParamInfo<LayoutAndMode>& info) {
  constexpr std::array kModes{"trusted", "deferred", "exact"};
  return std::string(shape_of(std::get<0>(info.param)).name) + "_" +
         kModes.at(static_cast<std::size_t>(std::get<1>(info.param)));
}

class EveryLayoutAndMode : public ::testing::TestWithParam<LayoutAndMode> {
 protected:
  static Layout layout() { return std::get<0>(GetParam()); }
  static DeleteMode mode() { return std::get<1>(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(CuckooFilter,
                         EveryLayoutAndMode,
                         ::testing::Combine(::testing::ValuesIn(kLayouts),
                                            ::testing::Values(DeleteMode::trusted,
                                                              DeleteMode::deferred,
                                                              DeleteMode::exact)),
                         name_of);

TEST_P(EveryLayoutAndMode, holds_everything_inserted_up_to_its_capacity) {
  constexpr std::uint64_t kKeys = 50'000;
  CuckooFilter filter(sizing_for(layout(), kKeys, mode()), kSecret);
  for (std::uint64_t i = 0; i < kKeys; ++i) {
    ASSERT_LE(filter.insert(nth_hash(7, i)), InsertOutcome::already_there);
  }
  for (std::uint64_t i = 0; i < kKeys; ++i) {
    ASSERT_TRUE(filter.may_contain(nth_hash(7, i))) << i;
  }
  EXPECT_FALSE(filter.stats().full);
  EXPECT_EQ(filter.stats().stashed, 0);
}

// The model counts rows per hash; few hashes and a small table make every kind of collision common.
TEST_P(EveryLayoutAndMode, never_loses_a_row_of_the_model_under_random_operations) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    std::mt19937_64 random(seed);
    const std::uint64_t buckets = 2 * (1 + random() % 12);
    const Sizing sizing{.layout = layout(), .buckets = buckets, .deletes = mode()};
    CuckooFilter filter(sizing, kSecret);
    std::map<std::uint64_t, int> rows;
    const std::uint64_t keys = 1 + random() % (2 * sizing.slots());
    for (int step = 0; step < 2000; ++step) {
      const std::uint64_t hash = nth_hash(seed, random() % keys);
      if (random() % 5 < 3) {
        filter.insert(hash);
        ++rows[hash];
      } else if (auto row = rows.find(hash); row != rows.end()) {
        ASSERT_NE(filter.erase(hash), EraseOutcome::not_found) << "seed " << seed << " " << step;
        if (--row->second == 0) {
          rows.erase(row);
        }
      }
      if (step % 10 != 0) {
        continue;
      }
      for (const auto& [present, count] : rows) {
        ASSERT_TRUE(filter.may_contain(present)) << "seed " << seed << " step " << step;
      }
    }
  }
}

TEST_P(EveryLayoutAndMode, one_identity_a_thousand_times_uses_a_few_slots_and_asks_for_nothing) {
  CuckooFilter filter(sizing_for(layout(), 1000, mode()), kSecret);
  const std::uint64_t hash = filter.hash("42");
  for (int i = 0; i < 1000; ++i) {
    EXPECT_LE(filter.insert(hash), InsertOutcome::already_there);
  }
  EXPECT_LE(filter.stats().fingerprints, mode() == DeleteMode::trusted ? 4 : 1);
  EXPECT_FALSE(filter.stats().rebuild_needed);
  for (int i = 0; i < 999; ++i) {
    EXPECT_NE(filter.erase(hash), EraseOutcome::not_found);
  }
  EXPECT_TRUE(filter.may_contain(hash)) << "one row is left";
}

TEST_P(EveryLayoutAndMode, overfilled_passes_everything_and_loses_nothing) {
  const Sizing sizing{.layout = layout(), .buckets = 64, .deletes = mode()};
  CuckooFilter filter(sizing, kSecret);
  const std::uint64_t keys = 2 * sizing.slots() + 200;
  bool full = false;
  for (std::uint64_t i = 0; i < keys; ++i) {
    full = filter.insert(nth_hash(3, i)) == InsertOutcome::full || full;
    ASSERT_TRUE(filter.may_contain(nth_hash(3, i / 2)));
  }
  EXPECT_TRUE(full || layout() == Layout::w8) << "W8 may know every fingerprint by then";
  for (std::uint64_t i = 0; i < keys; ++i) {
    ASSERT_TRUE(filter.may_contain(nth_hash(3, i)));
  }
  if (full) {
    EXPECT_TRUE(filter.stats().full);
    EXPECT_TRUE(filter.stats().rebuild_needed);
    EXPECT_TRUE(filter.may_contain(nth_hash(99, 5))) << "a full filter may not say absent";
    for (std::uint64_t i = 0; i < keys; i += 2) {
      filter.erase(nth_hash(3, i));
    }
    for (std::uint64_t i = 1; i < keys; i += 2) {
      ASSERT_TRUE(filter.may_contain(nth_hash(3, i)));
    }
  }
}

TEST_P(EveryLayoutAndMode, the_batch_gives_the_answers_of_single_look_ups_with_every_kernel) {
  constexpr std::uint64_t kKeys = 5'000;
  CuckooFilter filter(sizing_for(layout(), kKeys, mode()), kSecret);
  filter.insert(testing::hashes(5, kKeys));
  for (const auto kernel : {LookupKernel::scalar, LookupKernel::avx2, LookupKernel::avx512}) {
    if (!kernel_supported(kernel)) {
      continue;
    }
    filter.use_kernel(kernel);
    for (std::size_t size = 0; size <= kBatchMax; ++size) {
      std::vector<std::uint64_t> asked;
      asked.reserve(size);
      for (std::size_t i = 0; i < size; ++i) {
        asked.push_back(nth_hash(5, (i % 3 == 0 ? 0 : kKeys) + size * 100 + i));
      }
      std::uint64_t expected = 0;
      for (std::size_t i = 0; i < size; ++i) {
        expected |= static_cast<std::uint64_t>(filter.may_contain(asked[i])) << i;
      }
      ASSERT_EQ(filter.may_contain(asked), expected) << kernel_name(kernel) << " " << size;
    }
  }
}

TEST(CuckooFilter, a_batch_of_any_length_answers_in_order) {
  CuckooFilter filter(sizing_for(Layout::w20, 1000, DeleteMode::trusted), kSecret);
  std::vector<std::uint64_t> asked;
  for (std::uint64_t i = 0; i < 200; ++i) {
    asked.push_back(nth_hash(8, i));
    if (i % 3 == 0) {
      filter.insert(asked.back());
    }
  }
  const auto out = std::make_unique<bool[]>(asked.size());
  filter.may_contain(asked, std::span(out.get(), asked.size()));
  for (std::size_t i = 0; i < asked.size(); ++i) {
    EXPECT_EQ(out[i], i % 3 == 0) << i;
  }
}

TEST(CuckooFilter, an_erased_key_is_absent_again) {
  for (const DeleteMode mode : {DeleteMode::trusted, DeleteMode::exact}) {
    CuckooFilter filter(sizing_for(Layout::w20, 1000, mode), kSecret);
    filter.insert(nth_hash(1, 1));
    EXPECT_EQ(filter.erase(nth_hash(1, 1)), EraseOutcome::erased);
    EXPECT_FALSE(filter.may_contain(nth_hash(1, 1)));
    EXPECT_EQ(filter.erase(nth_hash(1, 1)), EraseOutcome::not_found);
    EXPECT_EQ(filter.stats().missing_deletes, 1);
  }
}

TEST(CuckooFilter, deferred_erases_wait_for_the_rebuild_and_ask_for_it) {
  CuckooFilter filter(sizing_for(Layout::w12, 20'000, DeleteMode::deferred), kSecret);
  filter.insert(testing::hashes(2, 12'000));
  for (std::uint64_t i = 0; i < 2'000; ++i) {
    EXPECT_EQ(filter.erase(nth_hash(2, i)), EraseOutcome::kept);
    EXPECT_TRUE(filter.may_contain(nth_hash(2, i)));
  }
  EXPECT_TRUE(filter.stats().rebuild_needed);
}

TEST(CuckooFilter, exact_counts_rows_of_one_identity) {
  CuckooFilter filter(sizing_for(Layout::w12, 1000, DeleteMode::exact), kSecret);
  const std::uint64_t hash = filter.hash("a@example.org");
  for (int row = 0; row < 300; ++row) {
    filter.insert(hash);
  }
  for (int row = 0; row < 299; ++row) {
    EXPECT_EQ(filter.erase(hash), EraseOutcome::erased);
  }
  EXPECT_TRUE(filter.may_contain(hash));
  EXPECT_EQ(filter.erase(hash), EraseOutcome::erased);
  EXPECT_FALSE(filter.may_contain(hash));
  EXPECT_EQ(filter.stats().items, 0);
}

TEST(CuckooFilter, its_digest_is_that_of_its_rows_in_any_order_and_mode) {
  for (const auto mode : {DeleteMode::trusted, DeleteMode::deferred, DeleteMode::exact}) {
    CuckooFilter filter(sizing_for(Layout::w12, 1000, mode), kSecret);
    filter.insert(testing::hashes(4, 100));
    filter.insert(nth_hash(4, 7));
    filter.erase(nth_hash(4, 3));
    filter.erase(nth_hash(4, 7));
    if (mode != DeleteMode::deferred) {  // which cannot tell
      filter.erase(nth_hash(4, 3));
    }
    Digest digest;
    for (std::uint64_t i = 99; i < 100; --i) {
      if (i != 3) {
        digest.add(nth_hash(4, i));
      }
    }
    EXPECT_EQ(filter.digest(), digest);
  }
}

TEST(CuckooFilter, exact_gives_a_larger_one_its_items_without_their_source) {
  CuckooFilter small(sizing_for(Layout::w8, 5'000, DeleteMode::exact), kSecret);
  small.insert(testing::hashes(4, 20'000));
  ASSERT_TRUE(small.stats().full);
  small.insert(nth_hash(4, 7));
  const std::uint64_t items = small.stats().items;
  CuckooFilter large(sizing_for(Layout::w20, 25'000, DeleteMode::exact), kSecret);
  EXPECT_TRUE(small.give(nth_hash(4, 7), large));
  EXPECT_FALSE(small.give(nth_hash(4, 7), large)) << "it is not counted there any more";
  while (small.give_some(10, large)) {
    ASSERT_EQ(small.stats().items + large.stats().items, items);
    ASSERT_EQ(small.count(nth_hash(4, 3)) + large.count(nth_hash(4, 3)), 1U);
  }
  EXPECT_EQ(small.stats().items, 0U);
  EXPECT_FALSE(large.stats().full);
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    ASSERT_TRUE(large.may_contain(nth_hash(4, i)));
    ASSERT_TRUE(small.may_contain(nth_hash(4, i))) << "whoever looks there finds what was";
  }
  EXPECT_EQ(large.erase(nth_hash(4, 7)), EraseOutcome::erased);
  EXPECT_TRUE(large.may_contain(nth_hash(4, 7))) << "was there twice";
}

TEST(CuckooFilter, fail_open_passes_everything) {
  CuckooFilter filter(sizing_for(Layout::w20, 1000, DeleteMode::trusted), kSecret);
  filter.fail_open();
  EXPECT_TRUE(filter.may_contain(nth_hash(1, 1)));
  EXPECT_EQ(filter.may_contain(testing::hashes(1, 64)), ~0ULL);
}

TEST(CuckooFilter, refuses_bucket_counts_its_addressing_cannot_do) {
  for (const std::uint64_t buckets : {0ULL, 1ULL, 3ULL, 1ULL << 32}) {
    EXPECT_THROW(CuckooFilter({.buckets = buckets}, kSecret), std::invalid_argument) << buckets;
  }
}

}  // namespace
}  // namespace cuckooguard::filter
