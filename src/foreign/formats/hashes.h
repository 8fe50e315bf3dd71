// The hash functions of other libraries' filters, each by its published definition.
//
// Threads: any. Lifetimes: nothing is kept. Errors: none; any bytes have a hash. Limits: none.
// Source:  MurmurHash64A, MurmurHash3_x64_128: Austin Appleby's SMHasher, public domain;
//          HighwayHash: Alakuijala, Cox, Wassenberg, "Fast keyed hash/pseudo-random function using
//          SIMD multiply and permute", 2016, and Google's highwayhash, portable variant, frozen;
//          MetroHash64: J. Andrew Rogers' MetroHash, the class of that name, which does not mix in
//          the length (metrohash64_1 and _2 are others).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cuckooguard::foreign {

struct Hash128 {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  bool operator==(const Hash128&) const = default;
};

std::uint64_t murmur_hash_64a(std::string_view bytes, std::uint64_t seed) noexcept;

// In two steps, for those who hash the same bytes with different last ones.
class Murmur3X64 {
 public:
  explicit Murmur3X64(std::string_view bytes, std::uint32_t seed = 0) noexcept;

  Hash128 hash() const noexcept;
  Hash128 hash_with(char last) const noexcept;  // of the bytes and one more

 private:
  static constexpr std::size_t kBlock = 16;

  std::uint64_t h1_;
  std::uint64_t h2_;
  std::uint64_t length_;
  std::array<char, kBlock> tail_{};  // what no whole block is made of; zeros behind it
};

using HighwayKey = std::array<std::uint64_t, 4>;
Hash128 highway_hash_128(std::string_view bytes, const HighwayKey& key) noexcept;

std::uint64_t metro_hash_64(std::string_view bytes, std::uint64_t seed) noexcept;

}  // namespace cuckooguard::foreign
