#include "source/transaction.h"

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace cuckooguard::source {
namespace {

using Image = Transaction::Image;

constexpr RowName row(std::uint64_t number) {
  return {.low = number * 0x9E3779B97F4A7C15, .high = number};
}

// What the filter was told, in order: +hash, -hash.
std::vector<std::int64_t> told(const Transaction& transaction) {
  std::vector<std::int64_t> calls;
  transaction.for_each_insert(
      [&calls](std::uint64_t hash) { calls.push_back(static_cast<std::int64_t>(hash)); });
  transaction.for_each_erase(
      [&calls](std::uint64_t hash) { calls.push_back(-static_cast<std::int64_t>(hash)); });
  return calls;
}

TEST(Transaction, tells_of_what_came_and_what_went) {
  Transaction transaction(10);
  ASSERT_TRUE(transaction.add(row(1), std::nullopt, 11));
  EXPECT_EQ(told(transaction), std::vector<std::int64_t>{11});
  transaction.clear();
  ASSERT_TRUE(transaction.add(row(1), 11, std::nullopt));
  EXPECT_EQ(told(transaction), std::vector<std::int64_t>{-11});
}

TEST(Transaction, inserts_before_it_erases) {
  Transaction transaction(10);
  ASSERT_TRUE(transaction.add(row(1), 11, std::nullopt));
  ASSERT_TRUE(transaction.add(row(2), 22, 23));
  ASSERT_TRUE(transaction.add(row(3), std::nullopt, 11));
  auto calls = told(transaction);
  EXPECT_TRUE(std::ranges::is_partitioned(calls, [](std::int64_t call) { return call > 0; }));
  std::ranges::sort(calls);
  EXPECT_EQ(calls, (std::vector<std::int64_t>{-22, -11, 11, 23}));
}

TEST(Transaction, leaves_alone_what_is_as_it_was) {
  Transaction transaction(10);
  ASSERT_TRUE(transaction.add(row(1), 11, std::nullopt));  // REPLACE of a row by its like
  ASSERT_TRUE(transaction.add(row(1), std::nullopt, 11));
  ASSERT_TRUE(transaction.add(row(2), 22, 22));  // another column has changed
  ASSERT_TRUE(transaction.add(row(3), std::nullopt, 33));
  ASSERT_TRUE(transaction.add(row(3), 33, std::nullopt));
  ASSERT_TRUE(transaction.add(row(4), std::nullopt, std::nullopt));  // no key for it: a NULL
  EXPECT_EQ(told(transaction), std::vector<std::int64_t>{});
}

TEST(Transaction, follows_a_row_through_all_its_changes) {
  Transaction transaction(10);
  ASSERT_TRUE(transaction.add(row(1), 11, 12));
  ASSERT_TRUE(transaction.add(row(1), 12, std::nullopt));
  ASSERT_TRUE(transaction.add(row(1), std::nullopt, 13));
  EXPECT_EQ(told(transaction), (std::vector<std::int64_t>{13, -11}));
}

// UPDATE t SET id = id + 1, row by row from the largest on: rows change their names in a ring.
TEST(Transaction, follows_rows_that_take_one_another_s_place) {
  Transaction transaction(10);
  const auto move = [&transaction](std::uint64_t from, std::uint64_t to, std::uint64_t hash) {
    return transaction.add(row(from), hash, std::nullopt) &&
           transaction.add(row(to), std::nullopt, hash);
  };
  ASSERT_TRUE(move(1, 3, 11) && move(2, 1, 22) && move(3, 2, 11));
  auto calls = told(transaction);
  std::ranges::sort(calls);
  EXPECT_EQ(calls, (std::vector<std::int64_t>{-22, -11, 11, 22})) << "row 1 is b now, row 2 is a";
}

// What is looked at first of a name is its upper half; all ones is where the index begins anew.
TEST(Transaction, tells_rows_apart_whose_names_begin_alike) {
  constexpr std::uint64_t kRows = 300;
  constexpr std::uint64_t kBeginning = 0xFFFFFFFF00000000;
  Transaction transaction(2 * kRows);
  for (std::uint64_t i = 0; i < kRows; ++i) {
    ASSERT_TRUE(transaction.add({.low = kBeginning + i, .high = 0}, std::nullopt, i));
    ASSERT_TRUE(transaction.add({.low = kBeginning, .high = i + 1}, std::nullopt, kRows + i));
  }
  for (std::uint64_t i = 0; i < kRows; ++i) {
    ASSERT_TRUE(transaction.add({.low = kBeginning + i, .high = 0}, i, std::nullopt)) << i;
  }
  EXPECT_EQ(transaction.rows(), 2 * kRows);
  std::vector<std::int64_t> left;
  left.reserve(kRows);
  for (std::uint64_t i = 0; i < kRows; ++i) {
    left.push_back(static_cast<std::int64_t>(kRows + i));
  }
  EXPECT_EQ(told(transaction), left);
}

TEST(Transaction, refuses_a_change_of_a_row_that_was_not_so) {
  Transaction transaction(10);
  ASSERT_TRUE(transaction.add(row(1), std::nullopt, 11));
  EXPECT_FALSE(transaction.add(row(1), 12, std::nullopt));
  EXPECT_FALSE(transaction.add(row(1), std::nullopt, 12)) << "it is there already";
}

// A bulk load, of which rows are changed again behind it.
TEST(Transaction, takes_no_index_for_inserts_and_finds_them_once_one_is_changed) {
  constexpr std::uint64_t kRows = 5000;
  Transaction transaction(2 * kRows);
  for (std::uint64_t i = 0; i < kRows; ++i) {
    ASSERT_TRUE(transaction.add(row(i), std::nullopt, i + 1));
  }
  EXPECT_LT(transaction.bytes(), kRows * 48);
  std::vector<std::int64_t> left;
  for (std::uint64_t i = 0; i < kRows; ++i) {
    if (i % 3 == 0) {
      ASSERT_TRUE(transaction.add(row(i), i + 1, std::nullopt)) << i;
    } else {
      left.push_back(static_cast<std::int64_t>(i + 1));
    }
  }
  EXPECT_EQ(transaction.rows(), kRows);
  EXPECT_EQ(told(transaction), left);
}

TEST(Transaction, follows_a_row_that_gets_a_key_behind_its_insert) {
  Transaction transaction(10);
  ASSERT_TRUE(transaction.add(row(1), std::nullopt, std::nullopt));
  ASSERT_TRUE(transaction.add(row(1), std::nullopt, 11));
  EXPECT_EQ(told(transaction), std::vector<std::int64_t>{11});
  std::optional<Image> last;
  transaction.for_each([&last](const RowName& /*name*/, Image after) { last = after; });
  EXPECT_EQ(last, std::optional(Image(11)));
  ASSERT_TRUE(transaction.add(row(1), 11, 12));
  EXPECT_EQ(told(transaction), std::vector<std::int64_t>{12});
}

TEST(Transaction, notices_a_row_that_was_inserted_twice_with_the_next_change_of_another_kind) {
  Transaction transaction(10);
  ASSERT_TRUE(transaction.add(row(1), std::nullopt, 11));
  ASSERT_TRUE(transaction.add(row(2), std::nullopt, 22));
  ASSERT_TRUE(transaction.add(row(1), std::nullopt, 11));
  EXPECT_FALSE(transaction.add(row(2), 22, std::nullopt));
}

TEST(Transaction, takes_one_place_for_a_row_without_a_key_however_often_it_is_changed) {
  Transaction transaction(3);
  for (std::uint64_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(transaction.add(row(i), std::nullopt, std::nullopt));
    ASSERT_TRUE(transaction.add(row(i), std::nullopt, std::nullopt));
  }
  EXPECT_EQ(transaction.rows(), 3U);
  EXPECT_TRUE(transaction.add(row(1), std::nullopt, 11));
  EXPECT_EQ(told(transaction), std::vector<std::int64_t>{11});
}

TEST(Transaction, refuses_more_rows_than_it_may_hold) {
  Transaction transaction(3);
  for (std::uint64_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(transaction.add(row(i), std::nullopt, i));
  }
  EXPECT_FALSE(transaction.add(row(3), std::nullopt, 3));
  EXPECT_TRUE(transaction.add(row(2), 2, 4)) << "a row it knows takes no room";
  transaction.clear();
  EXPECT_TRUE(transaction.add(row(3), std::nullopt, 3));
}

TEST(Transaction, keeps_its_rows_and_takes_no_more_when_it_is_sealed) {
  Transaction transaction(100);
  for (std::uint64_t i = 0; i < 50; ++i) {
    ASSERT_TRUE(transaction.add(row(i), i, i + 1));
  }
  const std::size_t bytes = transaction.bytes();
  transaction.seal();
  EXPECT_LT(transaction.bytes(), bytes);
  EXPECT_GE(transaction.bytes(), 50U * 40U);
  EXPECT_EQ(transaction.rows(), 50U);
  EXPECT_FALSE(transaction.add(row(1), 1, std::nullopt)) << "would be another row";
  transaction.clear();
  EXPECT_TRUE(transaction.add(row(1), std::nullopt, 1));
}

TEST(Transaction, is_empty_after_clear_whatever_its_size_was) {
  for (const std::uint64_t rows : {1U, 100U, 5000U}) {
    Transaction transaction(10'000);
    for (std::uint64_t i = 0; i < rows; ++i) {
      ASSERT_TRUE(transaction.add(row(i), std::nullopt, i + 1));
    }
    EXPECT_EQ(transaction.rows(), rows);
    transaction.clear();
    EXPECT_EQ(transaction.rows(), 0U);
    EXPECT_EQ(told(transaction), std::vector<std::int64_t>{});
    ASSERT_TRUE(transaction.add(row(0), 5, std::nullopt));
    EXPECT_EQ(told(transaction), std::vector<std::int64_t>{-5});
  }
}

void apply_to(const Transaction& transaction, std::multiset<std::uint64_t>& filter) {
  transaction.for_each_insert([&filter](std::uint64_t hash) { filter.insert(hash); });
  transaction.for_each_erase([&filter](std::uint64_t hash) {
    const auto at = filter.find(hash);
    ASSERT_NE(at, filter.end()) << hash;
    filter.erase(at);
  });
}

// A table whose rows come, go and change at random.
class RandomTable {
 public:
  explicit RandomTable(unsigned seed) : random_(seed + 1) {}

  void change(Transaction& transaction) {
    const std::uint64_t number = random_() % 40;
    const auto found = rows_.find(number);
    const Image before = found == rows_.end() ? Image() : Image(found->second);
    const Image after = random_() % 2 == 0 ? Image() : Image(1 + random_() % 20);
    EXPECT_TRUE(transaction.add(row(number), before, after));
    rows_.erase(number);
    if (after) {
      rows_.emplace(number, *after);
    }
  }
  std::uint64_t some() { return random_() % 300; }
  std::multiset<std::uint64_t> hashes() const {
    std::multiset<std::uint64_t> all;
    for (const auto& [number, hash] : rows_) {
      all.insert(hash);
    }
    return all;
  }

 private:
  std::minstd_rand random_;
  std::map<std::uint64_t, std::uint64_t> rows_;
};

// Applied at once, the changes leave the hashes of the rows.
TEST(Transaction, has_the_sum_of_all_changes) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    RandomTable table(seed);
    std::multiset<std::uint64_t> filter;
    Transaction transaction(1000);
    for (int transactions = 0; transactions < 5; ++transactions) {
      for (std::uint64_t changes = table.some(); changes > 0; --changes) {
        table.change(transaction);
      }
      apply_to(transaction, filter);
      transaction.clear();
      ASSERT_EQ(filter, table.hashes()) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace cuckooguard::source
