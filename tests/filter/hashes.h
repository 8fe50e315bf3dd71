// Hashes for filter tests: evenly spread ones from a seed, and ones made to fall where a test
// wants.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "filter/addressing.h"
#include "filter/key_hash.h"

namespace cuckooguard::filter::testing {

// SplitMix64 (Steele, Lea, Flood 2014): the i-th hash of a seed, all different for one seed.
inline std::uint64_t nth_hash(std::uint64_t seed, std::uint64_t i) {
  std::uint64_t x = seed * 0xD1B54A32D192ED03 + (i + 1) * 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

inline std::vector<std::uint64_t> hashes(std::uint64_t seed, std::size_t count) {
  std::vector<std::uint64_t> all(count);
  for (std::size_t i = 0; i < count; ++i) {
    all[i] = nth_hash(seed, i);
  }
  return all;
}

// The lowest hash with this first bucket and fingerprint.
inline std::uint64_t crafted_hash(std::uint64_t buckets,
                                  std::uint64_t bucket,
                                  std::uint64_t fingerprint_max,
                                  std::uint64_t fingerprint) {
  const std::uint64_t high = ((bucket << 32) + buckets - 1) / buckets;
  const std::uint64_t low = (((fingerprint - 1) << 32) + fingerprint_max - 1) / fingerprint_max;
  return (high << 32) | low;
}

// Not random: the same in every run.
inline HashSecret fixed_secret(std::uint64_t seed) {
  HashSecret secret;
  for (std::size_t i = 0; i < secret.bytes.size(); ++i) {
    secret.bytes[i] = static_cast<std::byte>(nth_hash(seed, i) & 0xFF);
  }
  return secret;
}

}  // namespace cuckooguard::filter::testing
