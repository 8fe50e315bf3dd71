#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "follow/log_feed.h"
#include "mysql/log_applier.h"

namespace cuckooguard::source::mysql {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Image = Transaction::Image;

constexpr RowName row(std::uint64_t number) {
  return {.low = number * 0x9E3779B97F4A7C15, .high = number};
}

constexpr const char* kServer = "11111111-1111-1111-1111-111111111111";

LogPosition executed(const std::string& numbers) {
  return LogPosition::parse(numbers.empty() ? "" : kServer + (":" + numbers), false).value();
}

// Transaction n has GTID n, and ends at 100 n of the first file.
struct Numbered {
  explicit Numbered(unsigned number)
      : gtid(std::get<binlog::MySqlGtid>(gtid_of(number))),
        end{.file = "binlog.000001", .position = 100UL * number} {}

  static LogGtid gtid_of(unsigned number) {
    binlog::MySqlGtid gtid;
    std::ranges::fill(gtid.source.uuid, std::uint8_t{0x11});
    gtid.number = number;
    return gtid;
  }
  Numbered& change(std::uint64_t name, Image before, Image after) {
    EXPECT_TRUE(transaction.add(row(name), before, after));
    return *this;
  }
  bool add_to(PendingChanges<Log>& pending) const {
    return pending.add({.gtid = gtid, .end = end, .is_xa_commit = is_xa_commit}, transaction);
  }
  Numbered& as_xa_commit() {
    is_xa_commit = true;
    return *this;
  }

  LogGtid gtid;
  LogPlace end;
  bool is_xa_commit = false;
  Transaction transaction{1000};
};

ReadView view(const std::string& covered, std::uint64_t window_end) {
  return {.covered = executed(covered),
          .window_end = LogPlace{.file = "binlog.000001", .position = window_end}};
}

// A snapshot's rows and the changes, as a loader makes them one. An erase of nothing: a failure.
std::multiset<std::uint64_t> merged(PendingChanges<Log>& pending,
                                    const std::map<std::uint64_t, std::uint64_t>& snapshot) {
  std::multiset<std::uint64_t> all;
  for (const auto& [name, image] : snapshot) {
    if (!pending.is_settled(row(name))) {
      all.insert(image);
    }
  }
  pending.take([&](std::uint64_t image) { all.insert(image); },
               [&](std::uint64_t image) { EXPECT_TRUE(all.extract(image)) << image; });
  return all;
}

TEST(PendingChanges, what_the_view_covers_is_left_to_the_snapshot) {
  PendingChanges<Log> pending;
  ASSERT_TRUE(Numbered(1).change(1, std::nullopt, 10).add_to(pending));
  ASSERT_TRUE(pending.view_is(view("1-2", 200)));
  ASSERT_TRUE(Numbered(2).change(1, 10, 11).add_to(pending));
  pending.settle();
  EXPECT_FALSE(pending.has_settled());
  EXPECT_THAT(merged(pending, {{1, 11}}), ElementsAre(11));
}

TEST(PendingChanges, what_is_behind_the_window_is_applied_to_the_snapshot_in_order) {
  PendingChanges<Log> pending;
  ASSERT_TRUE(Numbered(3).change(1, std::nullopt, 10).add_to(pending));
  ASSERT_TRUE(pending.view_is(view("1-2", 200)));
  ASSERT_TRUE(Numbered(4).change(1, 10, std::nullopt).change(2, 20, 21).add_to(pending));
  pending.settle();
  EXPECT_FALSE(pending.has_settled());
  EXPECT_THAT(merged(pending, {{2, 20}}), ElementsAre(21));
}

TEST(PendingChanges, in_the_window_the_last_word_on_a_row_counts_whether_it_was_visible_or_not) {
  for (const bool is_visible : {true, false}) {
    PendingChanges<Log> pending;
    ASSERT_TRUE(Numbered(3).change(1, 10, 11).change(2, 20, std::nullopt).add_to(pending));
    ASSERT_TRUE(pending.view_is(view("1-2", 400)));
    ASSERT_TRUE(Numbered(4).change(3, std::nullopt, 30).change(1, 11, 12).add_to(pending));
    pending.settle();
    const std::map<std::uint64_t, std::uint64_t> before{{1, 10}, {2, 20}, {4, 40}};
    const std::map<std::uint64_t, std::uint64_t> after{{1, 12}, {3, 30}, {4, 40}};
    EXPECT_THAT(merged(pending, is_visible ? after : before), ElementsAre(12, 30, 40));
  }
}

// The log has the deletion before it is committed: it waits with the others (log_feed.h).
TEST(PendingChanges, what_goes_in_the_window_is_there_until_it_is_erased) {
  PendingChanges<Log> pending;
  ASSERT_TRUE(pending.view_is(view("", 300)));
  ASSERT_TRUE(Numbered(1).change(1, 10, std::nullopt).add_to(pending));
  ASSERT_TRUE(Numbered(2).change(2, 20, 21).add_to(pending));
  pending.settle();
  std::vector<std::uint64_t> inserted;
  std::vector<std::uint64_t> erased;
  pending.take([&](std::uint64_t hash) { inserted.push_back(hash); },
               [&](std::uint64_t hash) { erased.push_back(hash); });
  EXPECT_THAT(inserted, testing::UnorderedElementsAre(21, 10, 20));
  EXPECT_THAT(erased, ElementsAre(10, 20));
}

TEST(PendingChanges, a_row_that_got_another_key_in_the_window_is_there_once) {
  for (const bool is_visible : {true, false}) {
    PendingChanges<Log> pending;
    ASSERT_TRUE(pending.view_is(view("1-2", 300)));
    ASSERT_TRUE(
        Numbered(3).change(1, 10, std::nullopt).change(2, std::nullopt, 10).add_to(pending));
    pending.settle();
    const std::map<std::uint64_t, std::uint64_t> before{{1, 10}};
    const std::map<std::uint64_t, std::uint64_t> after{{2, 10}};
    EXPECT_THAT(merged(pending, is_visible ? after : before), ElementsAre(10));
  }
}

TEST(PendingChanges, a_position_with_gaps_covers_what_is_in_it_alone) {
  PendingChanges<Log> pending;
  ASSERT_TRUE(pending.view_is(view("1-2:4", 500)));
  ASSERT_TRUE(Numbered(3).change(1, std::nullopt, 10).add_to(pending));
  ASSERT_TRUE(Numbered(4).change(2, std::nullopt, 20).add_to(pending));
  ASSERT_TRUE(Numbered(5).change(3, std::nullopt, 30).add_to(pending));
  pending.settle();
  EXPECT_TRUE(pending.is_settled(row(1)));
  EXPECT_FALSE(pending.is_settled(row(2)));
  EXPECT_THAT(merged(pending, {{2, 20}, {3, 30}}), ElementsAre(10, 20, 30));
}

TEST(PendingChanges, without_a_window_all_that_is_not_covered_is_behind) {
  PendingChanges<Log> pending;
  ASSERT_TRUE(pending.view_is({.covered = executed("1-2"), .window_end = std::nullopt}));
  ASSERT_TRUE(Numbered(2).change(1, 10, std::nullopt).add_to(pending));
  ASSERT_TRUE(Numbered(3).change(2, 20, std::nullopt).add_to(pending));
  EXPECT_FALSE(pending.has_settled());
  EXPECT_THAT(merged(pending, {{2, 20}}), IsEmpty());
}

// As MariaDB has it: the view's position covers the XA COMMIT, and may not show it.
TEST(PendingChanges, an_xa_commit_that_the_view_covers_counts_once_whether_it_was_visible_or_not) {
  for (const bool is_visible : {true, false}) {
    PendingChanges<Log> pending;
    ASSERT_TRUE(Numbered(1)
                    .as_xa_commit()
                    .change(1, std::nullopt, 10)
                    .change(2, 20, std::nullopt)
                    .add_to(pending));
    ASSERT_TRUE(pending.view_is({.covered = executed("1-3"), .window_end = std::nullopt}));
    ASSERT_TRUE(Numbered(4).change(3, 30, std::nullopt).add_to(pending));
    pending.settle();
    const std::map<std::uint64_t, std::uint64_t> before{{2, 20}, {3, 30}};
    const std::map<std::uint64_t, std::uint64_t> after{{1, 10}, {3, 30}};
    EXPECT_THAT(merged(pending, is_visible ? after : before), ElementsAre(10));
  }
}

TEST(PendingChanges, what_is_committed_behind_an_xa_commit_has_the_last_word_on_its_rows) {
  PendingChanges<Log> pending;
  ASSERT_TRUE(pending.view_is({.covered = executed("1-3"), .window_end = std::nullopt}));
  ASSERT_TRUE(Numbered(1)
                  .as_xa_commit()
                  .change(1, std::nullopt, 10)
                  .change(2, std::nullopt, 20)
                  .add_to(pending));
  ASSERT_TRUE(Numbered(2).change(1, 10, std::nullopt).change(3, std::nullopt, 30).add_to(pending));
  ASSERT_TRUE(Numbered(3).change(2, 20, 21).add_to(pending));
  pending.settle();
  EXPECT_THAT(merged(pending, {{2, 21}, {3, 30}}), ElementsAre(21, 30));
}

// Rows that come, go and change at random.
class RandomRows {
 public:
  explicit RandomRows(std::uint32_t seed) : random_(seed) {}

  unsigned pick(unsigned choices) { return static_cast<unsigned>(random_() % choices); }
  void change_some(Numbered& transaction) {
    constexpr unsigned kNames = 8;
    for (unsigned i = 0; i <= pick(3); ++i) {
      const std::uint64_t name = pick(kNames);
      const auto found = rows_.find(name);
      const Image before = found == rows_.end() ? Image() : Image(found->second);
      const Image after = pick(3) == 0 ? Image() : Image(++images_);
      transaction.change(name, before, after);
      rows_.erase(name);
      if (after) {
        rows_.emplace(name, *after);
      }
    }
  }
  const std::map<std::uint64_t, std::uint64_t>& rows() const { return rows_; }
  std::multiset<std::uint64_t> images() const {
    std::multiset<std::uint64_t> all;
    for (const auto& [name, image] : rows_) {
      all.insert(image);
    }
    return all;
  }

 private:
  std::mt19937 random_;
  std::map<std::uint64_t, std::uint64_t> rows_;
  std::uint64_t images_ = 0;
};

// Whatever a server shows of the window's transactions, in the order of its log.
TEST(PendingChanges, snapshot_and_changes_are_the_rows_behind_the_last_transaction) {
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    RandomRows random(seed);
    constexpr unsigned kTransactions = 30;
    const unsigned covered = random.pick(kTransactions);
    const unsigned visible = covered + random.pick(4);
    const unsigned window_end = visible + random.pick(4);
    const unsigned opened = random.pick(covered + 1);  // what was read when the view was there
    std::map<std::uint64_t, std::uint64_t> snapshot;
    PendingChanges<Log> pending;
    for (unsigned number = 1; number <= kTransactions; ++number) {
      if (number == opened + 1) {
        ASSERT_TRUE(pending.view_is(
            view(covered == 0 ? "" : "1-" + std::to_string(covered), 100UL * window_end)));
      }
      if (number == visible + 1) {
        snapshot = random.rows();
      }
      if (number == window_end + 1) {
        pending.settle();
      }
      Numbered transaction(number);
      random.change_some(transaction);
      ASSERT_TRUE(transaction.add_to(pending));
    }
    if (visible >= kTransactions) {
      snapshot = random.rows();
    }
    pending.settle();
    ASSERT_EQ(merged(pending, snapshot), random.images()) << "seed " << seed;
  }
}

TEST(PendingChanges, more_rows_than_can_be_kept_without_a_view_are_refused) {
  constexpr std::size_t kRowsAtOnce = 100'000;
  constexpr std::size_t kRowsMax = PendingChanges<Log>::kUndecidedBytesMax / 40;
  PendingChanges<Log> pending;
  Transaction large(kRowsAtOnce);
  for (std::uint64_t i = 0; i < kRowsAtOnce; ++i) {
    ASSERT_TRUE(large.add(row(i), std::nullopt, i));
  }
  const Numbered mark(1);
  std::size_t rows = 0;
  while (rows <= kRowsMax && pending.add({.gtid = mark.gtid, .end = mark.end}, large)) {
    rows += kRowsAtOnce;
  }
  EXPECT_GT(rows, kRowsMax / 2);
  EXPECT_LT(rows, kRowsMax);
}

// Each takes more than its row.
TEST(PendingChanges, more_transactions_than_can_be_kept_without_a_view_are_refused) {
  constexpr std::size_t kTransactionsMax = PendingChanges<Log>::kUndecidedBytesMax / 512;
  PendingChanges<Log> pending;
  const Numbered small = Numbered(1).change(1, std::nullopt, 1);
  std::size_t count = 0;
  while (count <= kTransactionsMax && small.add_to(pending)) {
    ++count;
  }
  EXPECT_GT(count, kTransactionsMax / 8);
  EXPECT_LT(count, kTransactionsMax);
}

TEST(PendingChanges, more_rows_in_the_window_than_can_be_kept_are_refused) {
  PendingChanges<Log> pending;
  ASSERT_TRUE(pending.view_is(view("1-2", 400)));
  Transaction large(PendingChanges<Log>::kWindowRowsMax + 1);
  for (std::uint64_t i = 0; i < PendingChanges<Log>::kWindowRowsMax; ++i) {
    ASSERT_TRUE(large.add(row(i), std::nullopt, i));
  }
  const Numbered mark(3);
  EXPECT_TRUE(pending.add({.gtid = mark.gtid, .end = mark.end}, large));
  EXPECT_FALSE(Numbered(4).change(0xFFFFFFFF, std::nullopt, 1).add_to(pending));
}

}  // namespace
}  // namespace cuckooguard::source::mysql
