// Guava's BloomFilter: what its writeTo() writes, and the same bits as a bitmap in Redis, where
// much code that is copied from page to page puts them.
//
//   offset 0   strategy: 0 is MURMUR128_MITZ_32, 1 is MURMUR128_MITZ_64
//          1   hashes: bits of an item, unsigned
//          2   number of longs, 32 bits
//          6   the longs; all numbers have their highest byte first
//
// Both hash with MurmurHash3_x64_128, seed 0. MITZ_32 makes two 32 bit numbers a, b of the low
// half: bit i of 1 ... is a + i * b, inverted if negative. MITZ_64 takes both halves: low + i *
// high for i of 0 ..., without the sign. Both modulo the number of bits.
//
// Threads, lifetimes: as of Filter. Errors: a sentence. Limits: of a file 2^31 - 1 longs, 255
// hashes; of a bitmap kRedisBitsMax, kHashesMax.
// Source: Guava, BloomFilter.java, BloomFilterStrategies.java, Funnels.java.
#pragma once

#include <cstdint>
#include <string>

#include "foreign/bitmap_filter.h"
#include "foreign/filter.h"

namespace cuckooguard::foreign {

enum class GuavaStrategy : std::uint8_t { murmur128_mitz_32, murmur128_mitz_64 };

// How the application turned an item into bytes.
enum class GuavaFunnel : std::uint8_t {
  utf8,       // Funnels.stringFunnel(UTF_8), byteArrayFunnel() of such
  java_long,  // longFunnel(), of a decimal number; whatever is none may be in it, in other bytes
};

FilterOrWhyNot read_guava(std::string file, GuavaFunnel funnel);

struct GuavaBitmap {
  Shape shape;
  GuavaStrategy strategy = GuavaStrategy::murmur128_mitz_32;
  GuavaFunnel funnel = GuavaFunnel::utf8;
};
// `bitmap`: what GET gives, empty if there is no key.
FilterOrWhyNot read_guava_bitmap(std::string bitmap, GuavaBitmap made);

}  // namespace cuckooguard::foreign
