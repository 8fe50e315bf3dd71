#include "filter/exact_counts.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <unordered_map>
#include <vector>

#include <gtest/gtest.h>

#include "filter/hashes.h"

namespace cuckooguard::filter {
namespace {

using Removal = ExactCounts::Removal;

TEST(ExactCounts, agrees_with_a_map_under_random_operations) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::mt19937_64 random(seed);
    ExactCounts counts(random() % 50);
    std::map<std::uint64_t, std::uint64_t> model;
    const std::uint64_t keys = 1 + random() % 300;
    for (int step = 0; step < 20'000; ++step) {
      const std::uint64_t key = random() % keys;
      // clustered, spread, and zero
      const std::uint64_t hash = key % 2 == 0 ? key / 2 : testing::nth_hash(seed, key);
      if (random() % 2 == 0) {
        EXPECT_EQ(counts.add(hash), ++model[hash] == 1);
      } else if (model[hash] == 0) {
        EXPECT_EQ(counts.remove(hash), Removal::unknown);
      } else {
        EXPECT_EQ(counts.remove(hash), --model[hash] == 0 ? Removal::last : Removal::some_left);
      }
      ASSERT_EQ(counts.count(hash), model[hash]);
    }
    std::erase_if(model, [](const auto& entry) { return entry.second == 0; });
    std::map<std::uint64_t, std::uint64_t> found;
    counts.for_each([&found](std::uint64_t hash, std::uint64_t count) { found[hash] = count; });
    EXPECT_EQ(found, model);
    EXPECT_EQ(counts.keys(), model.size());
  }
}

TEST(ExactCounts, counts_beyond_a_byte_and_back) {
  ExactCounts counts(1);
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    counts.add(7);
    ASSERT_EQ(counts.count(7), i);
  }
  for (std::uint64_t i = 1000; i-- > 1;) {
    EXPECT_EQ(counts.remove(7), Removal::some_left);
    ASSERT_EQ(counts.count(7), i);
  }
  EXPECT_EQ(counts.remove(7), Removal::last);
  EXPECT_TRUE(counts.large_counts().empty());
  counts.add(8, 300);
  EXPECT_EQ(counts.count(8), 300);
}

TEST(ExactCounts, takes_about_eleven_bytes_per_expected_key_and_grows_when_needed) {
  ExactCounts counts(100'000);
  const std::uint64_t bytes = counts.bytes();
  EXPECT_LT(bytes, 100'000 * 115 / 10);
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    counts.add(testing::nth_hash(1, i));
  }
  EXPECT_EQ(counts.bytes(), bytes) << "no growth up to what was expected";
  for (std::uint64_t i = 100'000; i < 200'000; ++i) {
    counts.add(testing::nth_hash(1, i));
  }
  for (std::uint64_t i = 0; i < 200'000; ++i) {
    ASSERT_EQ(counts.count(testing::nth_hash(1, i)), 1);
  }
}

std::unique_ptr<ExactCounts> restored(const std::vector<std::uint64_t>& hashes,
                                      const std::vector<std::uint8_t>& small_counts,
                                      std::unordered_map<std::uint64_t, std::uint64_t> large) {
  auto counts = ExactCounts::of_slots(small_counts.size());
  const auto words = std::as_writable_bytes(counts->words_to_fill());
  std::ranges::copy(std::as_bytes(std::span(hashes)), words.begin());
  std::ranges::copy(std::as_bytes(std::span(small_counts)),
                    words.subspan(hashes.size() * sizeof(std::uint64_t)).begin());
  return counts->fill(std::move(large)) ? std::move(counts) : nullptr;
}

// Whoever takes out the first one goes through all, also where a run goes on at the front.
TEST(ExactCounts, gives_each_hash_once_in_the_order_of_its_slots) {
  ExactCounts counts(1000);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    counts.add(testing::nth_hash(1, i), 1 + i);
  }
  std::uint64_t sum = 0;
  std::uint64_t taken = 0;
  while (const auto first = counts.first()) {
    EXPECT_EQ(counts.take(first->hash), first->count);
    EXPECT_EQ(counts.take(first->hash), 0U);
    sum += first->count;
    if (++taken == 500) {
      counts.add(testing::nth_hash(2, 1));
    }
  }
  EXPECT_EQ(taken, 1001U);
  EXPECT_EQ(sum, 1000U * 1001 / 2 + 1);
  EXPECT_EQ(counts.keys(), 0U);
  EXPECT_TRUE(counts.large_counts().empty());
}

TEST(ExactCounts, refuses_arrays_whose_probes_would_not_end) {
  const std::vector<std::uint64_t> hashes(32, 5);
  const auto restore = [&hashes](std::uint8_t count, auto large) {
    const std::vector<std::uint8_t> counts(32, count);
    return restored(hashes, counts, std::move(large));
  };
  using Large = std::unordered_map<std::uint64_t, std::uint64_t>;
  EXPECT_EQ(restore(1, Large{}), nullptr) << "no free slot";
  EXPECT_EQ(restore(255, Large{}), nullptr) << "a large count that is nowhere";
  EXPECT_EQ(restore(0, Large{{5, 300}}), nullptr) << "a large count of nothing";
  EXPECT_NE(restore(0, Large{}), nullptr);
}

// As counts that were made are, and no others: of these a hash is counted twice, or not found.
TEST(ExactCounts, refuses_arrays_in_which_a_hash_is_there_twice_or_not_found) {
  ExactCounts counts(100);
  for (std::uint64_t i = 0; i < 100; ++i) {
    counts.add(testing::nth_hash(1, i));
  }
  const std::vector<std::uint64_t> hashes(counts.hashes().begin(), counts.hashes().end());
  const std::vector<std::uint8_t> small(counts.small_counts().begin(), counts.small_counts().end());
  const auto restore = [](const auto& some_hashes, const auto& some_counts) {
    return restored(some_hashes, some_counts, {});
  };
  ASSERT_NE(restore(hashes, small), nullptr);
  EXPECT_EQ(restore(hashes, small)->total(), 100);
  for (std::size_t slot = 0; slot + 1 < small.size(); ++slot) {
    if (small[slot] == 0) {
      continue;
    }
    auto twice = hashes;
    auto with_next = small;
    twice[slot + 1] = hashes[slot];
    with_next[slot + 1] = 1;
    EXPECT_EQ(restore(twice, with_next), nullptr) << slot;
    auto cut_off = small;
    cut_off[slot] = 0;
    // Something of this run was moved on by it, or all behind it are where probes begin.
    const auto rest = restore(hashes, cut_off);
    for (std::size_t i = 0; rest != nullptr && i < small.size(); ++i) {
      EXPECT_EQ(rest->count(hashes[i]), i == slot ? 0 : small[i]);
    }
  }
}

}  // namespace
}  // namespace cuckooguard::filter
