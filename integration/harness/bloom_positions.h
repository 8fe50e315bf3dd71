// Which bits of a bitmap in Redis are an item's, in the filters of other libraries: for tests that
// fill one as the application does, by SETBIT. The hash functions are the product's own, which are
// tested against the libraries' (tests/foreign).
//
// Threads: any. Errors: none. Source: formats/formats.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/hashes.h"

namespace cuckooguard::harness {

using Positions = std::vector<std::uint64_t>;

inline Positions go_zero_positions(std::string_view item, std::uint64_t bits) {
  Positions all;
  for (char i = 0; i < 14; ++i) {
    all.push_back(foreign::Murmur3X64(item).hash_with(i).low % bits);
  }
  return all;
}

inline Positions redisson_positions(std::string_view item, std::uint64_t bits, int hashes) {
  const foreign::Hash128 hash = foreign::highway_hash_128(
      item, {0x9E3779B97F4A7C15, 0xF39CC0605CEDC834, 0x1082276BF3A27251, 0xF86C6A11D0C18E95});
  Positions all;
  std::uint64_t at = hash.low;
  for (int i = 0; i < hashes; ++i) {
    all.push_back((at & 0x7FFF'FFFF'FFFF'FFFF) % bits);
    at += i % 2 == 0 ? hash.high : hash.low;
  }
  return all;
}

// Of MURMUR128_MITZ_32, as blogs copy it.
inline Positions guava_positions(std::string_view item, std::uint64_t bits, int hashes) {
  const std::uint64_t hash = foreign::Murmur3X64(item).hash().low;
  Positions all;
  auto at = static_cast<std::uint32_t>(hash);
  for (int i = 0; i < hashes; ++i) {
    at += static_cast<std::uint32_t>(hash >> 32U);
    all.push_back(((at >> 31U) != 0 ? ~at : at) % bits);
  }
  return all;
}

// The string that SETBIT of each makes.
inline std::string with_bits(std::string bitmap, const Positions& positions) {
  for (const std::uint64_t bit : positions) {
    if (bitmap.size() <= bit / 8) {
      bitmap.resize(bit / 8 + 1);
    }
    bitmap[bit / 8] = static_cast<char>(bitmap[bit / 8] | (0x80 >> (bit % 8)));
  }
  return bitmap;
}

}  // namespace cuckooguard::harness
