// Where a hash lives: its fingerprint, its first bucket, and the other bucket of any fingerprint.
//
//   hash:  63            32 31             0
//         +----------------+----------------+
//         |  first bucket  |  fingerprint   |     each scaled to its range by a multiplication
//         +----------------+----------------+
//
// The other bucket is g(fingerprint) - bucket, modulo the number of buckets. Applied twice it gives
// the first bucket back, for any number of buckets; the XOR of Fan et al. needs a power of two,
// which costs up to twice the memory. The number of buckets is even and g is odd, so the two
// buckets have different parity and are never the same one.
//
// Threads:   immutable.
// Source:    the additive form: T. M. Graf & D. Lemire, fastfilter_cpp, "CuckooStable"; range
//            reduction: D. Lemire, "Fast Random Integer Generation in an Interval", 2019.
#pragma once

#include <cstdint>

namespace cuckooguard::filter {

// 2^32 / golden ratio, odd: spreads small numbers over 32 bits (Knuth, TAOCP 3, section 6.4).
inline constexpr std::uint32_t kSpread = 0x9E3779B1;

class Addressing {
 public:
  explicit Addressing(std::uint64_t buckets) noexcept : buckets_(buckets) {}

  [[nodiscard]] std::uint64_t buckets() const noexcept { return buckets_; }

  [[nodiscard]] std::uint64_t first_bucket(std::uint64_t hash) const noexcept {
    return ((hash >> 32) * buckets_) >> 32;
  }
  // 1 .. max, evenly.
  static std::uint64_t fingerprint(std::uint64_t hash, std::uint64_t max) noexcept {
    return 1 + (((hash & 0xFFFFFFFF) * max) >> 32);
  }
  [[nodiscard]] std::uint64_t other_bucket(std::uint64_t bucket,
                                           std::uint64_t fingerprint) const noexcept {
    const auto spread = static_cast<std::uint32_t>(fingerprint) * kSpread;
    const std::uint64_t sum = ((spread * buckets_) >> 32) | 1;
    return sum >= bucket ? sum - bucket : sum + buckets_ - bucket;
  }

 private:
  std::uint64_t buckets_;
};

}  // namespace cuckooguard::filter
