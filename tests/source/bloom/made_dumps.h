// What RedisBloom's SCANDUMP would say, as formats/formats.h describes it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "foreign/formats/little_endian_writer.h"
#include "formats/hashes.h"
#include "source/bloom/fake_redis.h"

namespace cuckooguard::source {

// Layers of 4096 bits, 3 for each item.
struct MadeBloom {
  std::string bits = std::string(512, '\0');
  std::uint64_t items = 0;
  std::uint32_t layers = 1;

  void add(const std::string& item, std::size_t layer = 0) {
    const std::uint64_t a = foreign::murmur_hash_64a(item, 0xC6A4A7935BD1E995);
    const std::uint64_t b = foreign::murmur_hash_64a(item, a);
    for (std::uint64_t i = 0; i < 3; ++i) {
      const std::uint64_t bit = layer * 4096 + (a + i * b) % 4096;
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

  // `is_moved`: into its other bucket.
  void add(const std::string& item, bool is_moved = false) {
    const std::uint64_t hash = foreign::murmur_hash_64a(item, 0);
    const std::uint64_t fingerprint = hash % 255 + 1;
    const std::uint64_t other = hash ^ (fingerprint * 0x5bd1e995);
    slots[(is_moved ? other : hash) % slots.size()] = static_cast<char>(fingerprint);
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

inline FakeRedis::Value chunk(std::int64_t position, std::string bytes) {
  return {.kind = FakeRedis::Value::Kind::list,
          .list = {FakeRedis::number(position), FakeRedis::text(std::move(bytes))}};
}

// In two pieces behind the header.
inline FakeRedis::Value dumped(const std::string& position,
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

}  // namespace cuckooguard::source
