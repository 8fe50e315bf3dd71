// Batch arithmetic one key after the other: the reference the vector forms are tested against.
#pragma once

#include "filter/batch_lookup.h"

namespace cuckooguard::filter {

struct ScalarLanes {
  template <class Bucket>
  static void address(std::span<const std::uint64_t> hashes,
                      std::uint64_t bucket_count,
                      BatchColumn& buckets,
                      BatchColumn& fingerprints) {
    const Addressing addressing(bucket_count);
    for (std::size_t i = 0; i < hashes.size(); ++i) {
      buckets[i] = addressing.first_bucket(hashes[i]);
      fingerprints[i] = Addressing::fingerprint(hashes[i], Bucket::kFingerprintMax);
    }
  }

  template <class Bucket>
  static BatchMatches compare(const BatchColumn& words,
                              const BatchColumn& fingerprints,
                              std::size_t count) {
    BatchMatches matches;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t found = Bucket::contains(words[i], fingerprints[i]) ? 1 : 0;
      const std::uint64_t overflowed = Bucket::overflowed(words[i], fingerprints[i]) ? 1 : 0;
      matches.found |= found << i;
      matches.overflowed |= overflowed << i;
    }
    return matches;
  }
};

}  // namespace cuckooguard::filter
