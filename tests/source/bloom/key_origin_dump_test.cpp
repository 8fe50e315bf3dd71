// Filters of RedisBloom's, by SCANDUMP: the module is not there, so what it would say is made here,
// as foreign/redisbloom.h describes it.
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bloom/dump.h"
#include "bloom/key_origin.h"
#include "foreign/hashes.h"
#include "foreign/little_endian_writer.h"
#include "source/bloom/fake_redis.h"

namespace cuckooguard::source {
namespace {

using config::BloomFormat;
using ::testing::HasSubstr;
using Kind = BloomReading::Kind;

// One layer of 4096 bits, 3 for each item.
struct MadeBloom {
  std::string bits = std::string(512, '\0');
  std::uint64_t items = 0;
  std::uint32_t layers = 1;

  void add(const std::string& item) {
    const std::uint64_t a = foreign::murmur_hash_64a(item, 0xC6A4A7935BD1E995);
    const std::uint64_t b = foreign::murmur_hash_64a(item, a);
    for (std::uint64_t i = 0; i < 3; ++i) {
      const std::uint64_t bit = (a + i * b) % 4096;
      bits[bit / 8] = static_cast<char>(bits[bit / 8] | (1 << (bit % 8)));
    }
    ++items;
  }
  std::string header() const {
    foreign::testing::LittleEndianWriter to;
    to.put<std::uint64_t>(items)
        .put<std::uint32_t>(layers)
        .put<std::uint32_t>(4)
        .put<std::uint32_t>(2);
    for (std::uint32_t i = 0; i < layers; ++i) {
      to.put<std::uint64_t>(512)
          .put<std::uint64_t>(4096)
          .put<std::uint64_t>(i == 0 ? items : 0)
          .put(0.01)
          .put(9.6)
          .put<std::uint32_t>(3)
          .put<std::uint64_t>(400)
          .put<std::uint8_t>(0);
    }
    return to.bytes();
  }
};

// Buckets of one slot, as many as a power of two; nobody is moved.
struct MadeCuckoo {
  std::string slots = std::string(1024, '\0');
  std::uint64_t items = 0;

  void add(const std::string& item) {
    const std::uint64_t hash = foreign::murmur_hash_64a(item, 0);
    slots[hash % slots.size()] = static_cast<char>(hash % 255 + 1);
    ++items;
  }
  std::string header() const {
    foreign::testing::LittleEndianWriter to;
    to.put<std::uint64_t>(items)
        .put<std::uint64_t>(slots.size())
        .put<std::uint64_t>(0)
        .put<std::uint64_t>(1)
        .put<std::uint16_t>(1)
        .put<std::uint16_t>(20)
        .put<std::uint16_t>(1);
    return to.bytes();
  }
};

FakeRedis::Value chunk(std::int64_t position, std::string bytes) {
  return {.kind = FakeRedis::Value::Kind::list,
          .list = {FakeRedis::number(position), FakeRedis::text(std::move(bytes))}};
}

// In two pieces behind the header.
FakeRedis::Value dumped(const std::string& position,
                        const std::string& header,
                        const std::string& data) {
  const std::size_t half = data.size() / 2;
  if (position == "0") {
    return chunk(1, header);
  }
  if (position == "1") {
    return chunk(static_cast<std::int64_t>(half + 1), data.substr(0, half));
  }
  return position == std::to_string(half + 1)
             ? chunk(static_cast<std::int64_t>(data.size() + 1), data.substr(half))
             : chunk(0, "");
}

struct Dumped {
  explicit Dumped(BloomFormat format) : origin({.format = format, .key = "ids"}, redis.open()) {
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
  Dumped made(BloomFormat::redisbloom);
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
  Dumped made(BloomFormat::redisbloom);
  made.bloom.add("7");
  int chunks = 0;
  made.at_chunk = [&](const std::string&) {
    if (++chunks == 3) {
      made.bloom.layers = 2;
      made.bloom.bits += std::string(512, '\0');
    }
  };
  const BloomReading reading = made.read();
  ASSERT_EQ(reading.kind, Kind::taken) << reading.why;
  EXPECT_EQ(reading.filter->facts().bits_or_slots, 8192U);
  EXPECT_TRUE(reading.filter->may_contain("7"));
}

TEST(BloomKeyOriginDump, a_cuckoo_filter_that_changes_meanwhile_is_begun_anew) {
  Dumped made(BloomFormat::rediscuckoo);
  made.cuckoo.add("7");
  int chunks = 0;
  made.at_chunk = [&](const std::string&) {
    if (++chunks == 2) {
      made.cuckoo.add("8");
    }
  };
  const BloomReading reading = made.read();
  ASSERT_EQ(reading.kind, Kind::taken) << reading.why;
  EXPECT_GT(chunks, 5) << "twice";
  EXPECT_TRUE(reading.filter->may_contain("7"));
  EXPECT_TRUE(reading.filter->may_contain("8"));
  made.at_chunk = [&](const std::string&) { made.cuckoo.add("more"); };
  const BloomReading never = made.read();
  EXPECT_EQ(never.kind, Kind::unclear);
  EXPECT_THAT(never.why, HasSubstr("changes faster than it can be dumped"));
}

TEST(BloomKeyOriginDump, what_is_no_dump_is_refused) {
  Dumped made(BloomFormat::redisbloom);
  made.bloom.bits.pop_back();
  EXPECT_EQ(made.read().kind, Kind::refused);
  made.redis.more = nullptr;
  EXPECT_THAT(made.read().why, HasSubstr("unknown command 'BF.SCANDUMP'"));
  made.redis.more = [](const FakeRedis::Words&) { return chunk(0, ""); };
  EXPECT_THAT(made.read().why, HasSubstr("no filter under the key"));
  made.redis.more = [](const FakeRedis::Words&) { return FakeRedis::text("OK"); };
  EXPECT_THAT(made.read().why, HasSubstr("is no chunk"));
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
