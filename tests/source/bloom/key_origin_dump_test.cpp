// Filters of RedisBloom's, by SCANDUMP: the module is not there, so what it would say is made here,
// as formats/formats.h describes it.
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bloom/key_origin.h"
#include "formats/formats.h"
#include "source/bloom/fake_redis.h"
#include "source/bloom/made_dumps.h"

namespace cuckooguard::source {
namespace {

using ::testing::HasSubstr;
using Kind = BloomReading::Kind;

struct Dumped {
  explicit Dumped(const foreign::Format& format)
      : origin({.format = &format, .key = "ids"}, redis.open()) {
    redis.more = [this](const FakeRedis::Words& words) {
      at_chunk(words.at(2));
      if (words[0] == "BF.SCANDUMP") {
        return dumped(words.at(2), bloom.header(), bloom.bits);
      }
      return words[0] == "CF.SCANDUMP" ? dumped(words.at(2), cuckoo.header(), cuckoo.slots)
                                       : FakeRedis::error("ERR unknown command");
    };
  }
  BloomReading read() { return origin.read({}); }

  FakeRedis redis;
  MadeBloom bloom;
  MadeCuckoo cuckoo;
  std::function<void(const std::string&)> at_chunk = [](const std::string&) {};
  BloomKeyOrigin origin;
};

TEST(BloomKeyOriginDump, a_bloom_filter_is_read_while_others_add_to_it) {
  Dumped made(foreign::kRedisBloom);
  for (int id = 0; id < 100; ++id) {
    made.bloom.add(std::to_string(id));
  }
  int added = 0;
  made.at_chunk = [&](const std::string&) { made.bloom.add("added " + std::to_string(added++)); };
  const BloomReading reading = made.read();
  ASSERT_EQ(reading.kind, Kind::taken) << reading.why;
  EXPECT_EQ(added, 5) << "at once: a header, three chunks, a header";
  for (int id = 0; id < 100; ++id) {
    ASSERT_TRUE(reading.filter->may_contain(std::to_string(id))) << id;
  }
  EXPECT_FALSE(reading.filter->may_contain("5000"));
}

TEST(BloomKeyOriginDump, a_bloom_filter_that_gets_another_layer_meanwhile_is_begun_anew) {
  Dumped made(foreign::kRedisBloom);
  made.bloom.add("7");
  int chunks = 0;
  made.at_chunk = [&](const std::string&) {
    if (++chunks == 3) {
      made.redis.change([&] {
        made.bloom.layers = 2;
        made.bloom.bits += std::string(512, '\0');
      });
    }
  };
  const BloomReading reading = made.read();
  ASSERT_EQ(reading.kind, Kind::taken) << reading.why;
  EXPECT_EQ(reading.filter->facts().bits_or_slots, 8192U);
  EXPECT_TRUE(reading.filter->may_contain("7"));
}

TEST(BloomKeyOriginDump, a_cuckoo_filter_that_changes_meanwhile_is_begun_anew) {
  Dumped made(foreign::kRedisCuckoo);
  made.cuckoo.add("7");
  int chunks = 0;
  made.at_chunk = [&](const std::string&) {
    if (++chunks == 2) {
      made.redis.change([&] { made.cuckoo.add("8"); });
    }
  };
  const BloomReading reading = made.read();
  ASSERT_EQ(reading.kind, Kind::taken) << reading.why;
  EXPECT_GT(chunks, 5) << "twice";
  EXPECT_TRUE(reading.filter->may_contain("7"));
  EXPECT_TRUE(reading.filter->may_contain("8"));
  int added = 0;
  made.at_chunk = [&](const std::string&) { made.redis.is_dirty = ++added > 0; };
  const BloomReading at_once = made.read();
  EXPECT_EQ(at_once.kind, Kind::taken) << "by one transaction: " << at_once.why;
  EXPECT_GT(added, 15) << "three times in pieces before";
  EXPECT_EQ(made.origin.look().kind, BloomLook::Kind::changed);
}

TEST(BloomKeyOriginDump, what_is_no_dump_is_refused) {
  Dumped made(foreign::kRedisBloom);
  made.bloom.bits.pop_back();
  EXPECT_EQ(made.read().kind, Kind::refused);
  made.redis.more = nullptr;
  EXPECT_THAT(made.read().why, HasSubstr("unknown command 'BF.SCANDUMP'"));
  made.redis.more = [](const FakeRedis::Words&) { return chunk(0, ""); };
  EXPECT_THAT(made.read().why, HasSubstr("no filter at the key"));
  made.redis.more = [](const FakeRedis::Words&) { return FakeRedis::text("OK"); };
  EXPECT_THAT(made.read().why, HasSubstr("is not a chunk"));
}

TEST(BloomKeyOriginDump, headers_may_differ_in_counts_alone) {
  MadeBloom bloom;
  bloom.layers = 3;
  const std::string before = bloom.header();
  bloom.add("7");
  EXPECT_TRUE(have_same_layers(before, bloom.header()));
  for (std::size_t at = 0; at < before.size(); ++at) {
    std::string other = before;
    other[at] = static_cast<char>(other[at] + 1);
    const std::size_t in_layer = at < 20 ? 0 : (at - 20) % 53;
    const bool is_count = at < 8 || (at >= 20 && in_layer >= 16 && in_layer < 24);
    EXPECT_EQ(have_same_layers(before, other), is_count) << at;
  }
  EXPECT_FALSE(have_same_layers(before, before + "x"));
  EXPECT_FALSE(have_same_layers("short", "short"));
}

}  // namespace
}  // namespace cuckooguard::source
