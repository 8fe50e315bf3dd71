#include <map>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "guard/guarded_shop.h"
#include "guard/learner.h"

namespace cuckooguard::guard {
namespace {

constexpr TimePoint kStart{std::chrono::hours(1000)};

std::uint64_t hash(std::uint64_t number) {
  static const filter::KeyHash kHash(fixed_secret(1));
  return kHash("id" + std::to_string(number));
}

class LearnedKeysTest : public testing::Test {
 protected:
  LearnedKeys::Learned put(std::uint32_t writer, std::uint32_t user, std::uint64_t number) {
    return keys_.put({.hash = hash(number),
                      .writer = writer,
                      .user = user,
                      .now = now_,
                      .ttl = seconds(60),
                      .max_lag = seconds(1)});
  }
  bool holds(std::uint64_t number) const { return overlay_.holds(hash(number), now_); }

  TimePoint now_ = kStart;
  Overlay overlay_{{.max_keys = 100'000, .ttl = seconds(60)}};
  LearnedKeys keys_{overlay_, {.client = 10, .user = 25, .total = 60}};
};

TEST_F(LearnedKeysTest, a_client_that_has_filled_its_share_loses_its_own_oldest_key) {
  put(2, 0, 1000);
  for (std::uint64_t i = 0; i < 30; ++i) {
    EXPECT_EQ(put(1, 0, i).is_lost, i >= 10);
    EXPECT_FALSE(i >= 10 && holds(i - 10)) << i;
    EXPECT_TRUE(holds(i < 9 ? 0 : i - 9));
  }
  EXPECT_TRUE(holds(1000)) << "another client's";
}

TEST_F(LearnedKeysTest, a_user_cannot_have_more_by_more_clients) {
  put(100, 1, 1000);
  for (std::uint32_t i = 0; i < 100; ++i) {
    EXPECT_EQ(put(i, 0, i).is_lost, i >= 25);
  }
  EXPECT_FALSE(holds(74));
  EXPECT_TRUE(holds(75));
  EXPECT_TRUE(holds(1000)) << "another user's";
}

TEST_F(LearnedKeysTest, of_a_user_the_writers_that_have_most_lose_and_are_told) {
  put(9, 0, 1000);
  put(8, 0, 1001);
  for (std::uint32_t i = 0; i < 600; ++i) {
    const std::uint32_t writer = i % 6;
    const auto learned = put(writer, 0, i);
    EXPECT_EQ(learned.is_lost, i >= 23) << i;
    EXPECT_TRUE(!learned.is_lost || learned.young_loser.value() < 6) << i;
  }
  EXPECT_TRUE(holds(1000));
  EXPECT_TRUE(holds(1001));
}

TEST_F(LearnedKeysTest, nobody_takes_from_another_user) {
  put(0, 1, 1000);
  put(0, 1, 1001);
  for (std::uint32_t i = 0; i < 100; ++i) {
    put(1 + i % 5, 0, i);
  }
  EXPECT_TRUE(holds(1000));
  EXPECT_TRUE(holds(1001));
}

// Its keys count on, for whoever has its number then.
TEST_F(LearnedKeysTest, what_has_expired_counts_no_more) {
  for (std::uint64_t i = 0; i < 10; ++i) {
    put(1, 0, i);
  }
  now_ += seconds(61);
  for (std::uint64_t i = 10; i < 20; ++i) {
    EXPECT_FALSE(put(1, 0, i).is_lost);
  }
  EXPECT_EQ(keys_.size(), 10);
}

TEST_F(LearnedKeysTest, a_key_that_somebody_has_prolonged_stays) {
  put(1, 0, 0);
  now_ += seconds(1);
  put(2, 0, 0);
  for (std::uint64_t i = 1; i <= 10; ++i) {
    EXPECT_FALSE(put(1, 0, i).is_lost);
  }
  EXPECT_TRUE(holds(0));
}

TEST_F(LearnedKeysTest, one_key_written_again_and_again_takes_one_place) {
  for (int i = 0; i < 1000; ++i) {
    put(1, 0, 0);
  }
  EXPECT_EQ(keys_.size(), 1);
}

TEST_F(LearnedKeysTest, only_what_is_younger_than_max_lag_is_missed) {
  for (std::uint64_t i = 0; i < 10; ++i) {
    put(1, 0, i);
  }
  EXPECT_EQ(put(1, 0, 10).young_loser, 1);
  now_ += seconds(2);
  EXPECT_EQ(put(1, 0, 11).young_loser, std::nullopt);
}

TEST_F(LearnedKeysTest, where_all_is_full_who_has_nothing_takes_from_who_has_most) {
  for (std::uint32_t user = 0; user < 2; ++user) {
    for (std::uint32_t i = 0; i < 25; ++i) {
      put(user * 100 + i, user, user * 100 + i);
    }
  }
  for (std::uint32_t i = 0; i < 10; ++i) {
    put(300 + i, 2, 300 + i);
  }
  EXPECT_EQ(keys_.size(), 60);
  EXPECT_TRUE(put(400, 3, 400).is_lost);
  EXPECT_EQ(keys_.size(), 60);
  EXPECT_TRUE(holds(400));
  EXPECT_TRUE(holds(300));
}

TEST_F(LearnedKeysTest, a_small_overlay_leaves_room_for_a_pipeline_or_two) {
  const auto limits = LearnedKeys::limits_for(1, 8);
  EXPECT_GE(limits.client, 64);
  EXPECT_GE(limits.user, limits.client);
  EXPECT_GE(limits.total, limits.user);
  const auto large = LearnedKeys::limits_for(1'000'000, 2);
  EXPECT_EQ(large.client, 31'250);
  EXPECT_EQ(large.user, 125'000);
  EXPECT_EQ(large.total, 500'000);
}

// Against counts that are kept in the plainest way.
TEST_F(LearnedKeysTest, no_share_is_ever_exceeded_whoever_writes_what) {
  std::mt19937_64 random(1);
  std::map<std::uint64_t, std::uint32_t> owners;
  for (std::uint64_t i = 0; i < 50'000; ++i) {
    const auto writer = static_cast<std::uint32_t>(random() % 12);
    put(writer, writer / 3, i);
    owners[i] = writer;
    now_ += std::chrono::milliseconds(random() % 3000);
    std::map<std::uint32_t, int> of_writer;
    std::map<std::uint32_t, int> of_user;
    for (std::uint64_t j = i < 100 ? 0 : i - 100; j <= i; ++j) {
      if (holds(j)) {
        ++of_writer[owners[j]];
        ++of_user[owners[j] / 3];
      }
    }
    for (const auto& [who, count] : of_writer) {
      ASSERT_LE(count, 10) << who;
    }
    for (const auto& [who, count] : of_user) {
      ASSERT_LE(count, 25) << who;
    }
    ASSERT_LE(keys_.size(), 60);
  }
}

}  // namespace
}  // namespace cuckooguard::guard
