#include "bloom/key_origin.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "foreign/toy_format.h"
#include "formats/formats.h"
#include "harness/bloom_positions.h"
#include "source/bloom/fake_redis.h"

namespace cuckooguard::source {
namespace {

using config::BloomSource;
using harness::go_zero_positions;
using harness::redisson_positions;
using harness::with_bits;
using ::testing::HasSubstr;
using Kind = BloomReading::Kind;

constexpr std::uint64_t kBits = std::uint64_t{20} << 20U;  // 2.5 MiB: three pieces

std::string bitmap_of(int from, int to) {
  std::string bitmap(kBits / 8, '\0');
  for (int id = from; id < to; ++id) {
    bitmap = with_bits(std::move(bitmap), go_zero_positions(std::to_string(id), kBits));
  }
  return bitmap;
}

struct Keyed {
  explicit Keyed(BloomSource settings) : origin(std::move(settings), redis.open()) {}
  Keyed() : Keyed({.format = &foreign::kGoZero, .key = "ids", .bits = kBits}) {}

  BloomReading read() { return origin.read({}); }

  FakeRedis redis;
  BloomKeyOrigin origin;
};

TEST(BloomKeyOrigin, a_bitmap_is_read_in_pieces) {
  Keyed go_zero;
  go_zero.redis.texts["ids"] = bitmap_of(0, 1000);
  int pieces = 0;
  go_zero.redis.before = [&](const FakeRedis::Words& words) {
    pieces += words[0] == "GETRANGE" ? 1 : 0;
  };
  const BloomReading reading = go_zero.read();
  ASSERT_EQ(reading.kind, Kind::taken) << reading.why;
  EXPECT_EQ(pieces, 3);
  for (int id = 0; id < 1000; ++id) {
    ASSERT_TRUE(reading.filter->may_contain(std::to_string(id))) << id;
  }
  EXPECT_FALSE(reading.filter->may_contain("5000"));
  EXPECT_EQ(go_zero.origin.look().kind, BloomLook::Kind::unchanged);
}

// What is in the filter all the time is found, whenever it is replaced or added to.
TEST(BloomKeyOrigin, no_item_of_both_is_missed_when_the_key_is_replaced_between_two_pieces) {
  const std::string before = bitmap_of(0, 1000);
  const std::string after = bitmap_of(500, 1500);
  for (int replaced_at = 0; replaced_at < 4; ++replaced_at) {
    Keyed go_zero;
    go_zero.redis.texts["ids"] = before;
    int pieces = 0;
    go_zero.redis.before = [&](const FakeRedis::Words& words) {
      if (words[0] == "GETRANGE" && pieces++ == replaced_at) {
        go_zero.redis.change([&] { go_zero.redis.texts["ids"] = after; });
      }
    };
    const BloomReading reading = go_zero.read();
    ASSERT_EQ(reading.kind, Kind::taken) << reading.why;
    for (int id = 500; id < 1000; ++id) {
      ASSERT_TRUE(reading.filter->may_contain(std::to_string(id))) << id << ' ' << replaced_at;
    }
    EXPECT_EQ(go_zero.origin.look().kind,
              replaced_at < 3 ? BloomLook::Kind::changed : BloomLook::Kind::unchanged);
  }
}

TEST(BloomKeyOrigin, a_change_that_comes_right_behind_the_reading_is_seen) {
  Keyed go_zero;
  go_zero.redis.texts["ids"] = bitmap_of(0, 10);
  ASSERT_EQ(go_zero.read().kind, Kind::taken);
  go_zero.redis.change([&] { go_zero.redis.texts["ids"] = bitmap_of(0, 11); });
  EXPECT_EQ(go_zero.origin.look().kind, BloomLook::Kind::changed);
  const BloomReading reading = go_zero.read();
  ASSERT_EQ(reading.kind, Kind::taken);
  EXPECT_TRUE(reading.filter->may_contain("10"));
  EXPECT_EQ(go_zero.origin.look().kind, BloomLook::Kind::unchanged);
}

TEST(BloomKeyOrigin, what_becomes_shorter_meanwhile_is_not_believed) {
  Keyed go_zero;
  go_zero.redis.texts["ids"] = bitmap_of(0, 10);
  go_zero.redis.before = [&](const FakeRedis::Words& words) {
    if (words[0] == "GETRANGE") {
      go_zero.redis.texts["ids"].resize(words[2] == "0" ? kBits / 8 : 100);
    }
  };
  EXPECT_EQ(go_zero.read().kind, Kind::unclear);
}

TEST(BloomKeyOrigin, without_watch_it_is_taken_for_changed) {
  Keyed go_zero;
  go_zero.redis.has_watch = false;
  go_zero.redis.texts["ids"] = bitmap_of(0, 10);
  ASSERT_EQ(go_zero.read().kind, Kind::taken);
  EXPECT_EQ(go_zero.origin.look().kind, BloomLook::Kind::changed);
}

TEST(BloomKeyOrigin,
     what_redis_cannot_say_just_now_is_lost_and_what_somebody_must_mend_is_refused) {
  Keyed go_zero;
  const BloomReading missing = go_zero.read();
  EXPECT_EQ(missing.kind, Kind::refused);
  EXPECT_THAT(missing.why, HasSubstr("no filter at the key ids in db 0"));
  go_zero.redis.texts["ids"] = bitmap_of(0, 10);
  go_zero.redis.role = "slave";
  EXPECT_THAT(go_zero.read().why, HasSubstr("Redis is a replica"));
  go_zero.redis.role = "master";
  ASSERT_EQ(go_zero.read().kind, Kind::taken);
  go_zero.redis.role = "slave";
  EXPECT_EQ(go_zero.origin.look().kind, BloomLook::Kind::refused) << "a master that became one";
  EXPECT_EQ(go_zero.origin.look().kind, BloomLook::Kind::changed) << "by another connection";
  go_zero.redis.role = "master";
  ASSERT_EQ(go_zero.read().kind, Kind::taken);
  go_zero.redis.is_up = false;
  EXPECT_EQ(go_zero.origin.look().kind, BloomLook::Kind::lost);
  EXPECT_EQ(go_zero.origin.look().kind, BloomLook::Kind::changed) << "all is to be read again";
  EXPECT_EQ(go_zero.read().kind, Kind::lost);
  go_zero.redis.is_up = true;
  go_zero.redis.texts["ids"] += "longer";
  EXPECT_THAT(go_zero.read().why, HasSubstr("another number of bits"));
}

TEST(BloomKeyOrigin, redissons_config_has_the_name_that_redisson_gives_it) {
  EXPECT_EQ(BloomKeyOrigin::redisson_config_key("users"), "{users}:config");
  EXPECT_EQ(BloomKeyOrigin::redisson_config_key("{shop}:users"), "{shop}:users:config");
}

TEST(BloomKeyOrigin, redissons_shape_must_be_the_same_behind_the_bitmap) {
  Keyed redisson({.format = &foreign::kRedisson, .key = "ids"});
  constexpr std::uint64_t kSize = 100'000;
  FakeRedis& redis = redisson.redis;
  std::string bitmap;
  for (int id = 0; id < 100; ++id) {
    bitmap = with_bits(std::move(bitmap), redisson_positions(std::to_string(id), kSize, 5));
  }
  redis.texts["ids"] = bitmap;
  EXPECT_THAT(redisson.read().why, HasSubstr("{ids}:config lacks size"));
  redis.hashes["{ids}:config"] = {{"size", "100000"}, {"hashIterations", "5"}};
  const BloomReading reading = redisson.read();
  ASSERT_EQ(reading.kind, Kind::taken) << reading.why;
  EXPECT_TRUE(reading.filter->may_contain("99"));
  EXPECT_FALSE(reading.filter->may_contain("100"));
  int hashes = 5;
  redis.before = [&](const FakeRedis::Words& words) {
    if (words[0] == "GETRANGE") {
      redis.hashes["{ids}:config"]["hashIterations"] = std::to_string(++hashes);
    }
  };
  EXPECT_EQ(redisson.read().kind, Kind::unclear);
}

TEST(BloomKeyOrigin, reads_any_format_that_it_is_handed) {
  Keyed toy({.format = &foreign::kToyBitmap, .key = "ids", .bits = kBits});
  toy.redis.texts["ids"] = "seen\nknown\n";
  const BloomReading reading = toy.read();
  ASSERT_EQ(reading.kind, Kind::taken) << reading.why;
  EXPECT_TRUE(reading.filter->may_contain("known"));
  EXPECT_FALSE(reading.filter->may_contain("now"));
}

}  // namespace
}  // namespace cuckooguard::source
