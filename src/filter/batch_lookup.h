// Up to 64 look-ups at once, so that their cache misses overlap.
//
// One look-up in a table larger than the cache waits some 150 ns for memory; the processor can wait
// for a dozen lines at the same time. So: compute all addresses and prefetch, then read the first
// buckets, then prefetch and read the second buckets of those few that need one, and check the move
// counter once for all. Each key's loads come in the order that table_reader.h requires (moves,
// stash mask, first, second, moves), so its argument holds for the batch; a key whose look-up was
// disturbed is looked up again alone. Words are loaded one by one, as atomics, and only then
// compared side by side: a vector gather is not an atomic access.
//
// `Lanes` computes on arrays of 64: lanes_scalar.h, lanes_avx2.h, lanes_avx512.h.
//
// Threads:   any number of readers.
// Limits:    kBatchMax hashes.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "filter/lookup_kernel.h"
#include "filter/table_reader.h"

namespace cuckooguard::filter {

// Columns are left uninitialized, and vectors compute on what stands behind the last key, to throw
// the result away: the warning about it is right, and clearing them would cost more than it could
// find.
#if !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

struct alignas(64) BatchColumn : std::array<std::uint64_t, kBatchMax> {};

// One bit per key.
struct BatchMatches {
  std::uint64_t found = 0;
  std::uint64_t overflowed = 0;
};

constexpr std::uint64_t lowest_bits(std::size_t count) {
  return count >= 64 ? ~0ULL : (1ULL << count) - 1;
}

// Looks into the second buckets of the keys in `asked`; returns those found there.
template <class Bucket, class Lanes, class Cells>
std::uint64_t lookup_second_buckets(const Cells& cells,
                                    const Addressing& addressing,
                                    std::uint64_t asked,
                                    const BatchColumn& first,
                                    const BatchColumn& fingerprints) {
  BatchColumn second;
  BatchColumn words;
  BatchColumn packed;
  std::size_t count = 0;
  for (std::uint64_t left = asked; left != 0; left &= left - 1) {
    const auto key = static_cast<std::size_t>(std::countr_zero(left));
    packed[count] = fingerprints[key];
    second[count] = addressing.other_bucket(first[key], fingerprints[key]);
    cells.prefetch_bucket(second[count]);
    ++count;
  }
  for (std::size_t i = 0; i < count; ++i) {
    words[i] = cells.load_bucket(second[i]);
  }
  const std::uint64_t matches = Lanes::template compare<Bucket>(words, packed, count).found;
  std::uint64_t found = 0;
  std::size_t i = 0;
  for (std::uint64_t left = asked; left != 0; left &= left - 1) {
    found |= ((matches >> i) & 1) << std::countr_zero(left);
    ++i;
  }
  return found;
}

// Bit i of the result: hashes[i] may be there. At most kBatchMax hashes.
template <class Bucket, class Lanes, class Cells>
std::uint64_t lookup_batch(const Cells& cells,
                           const Addressing& addressing,
                           std::span<const std::uint64_t> hashes) {
  BatchColumn buckets;
  BatchColumn fingerprints;
  BatchColumn words;
  const std::size_t count = hashes.size();
  const std::uint64_t all = lowest_bits(count);

  Lanes::template address<Bucket>(hashes, addressing.buckets(), buckets, fingerprints);
  for (std::size_t i = 0; i < count; ++i) {
    cells.prefetch_bucket(buckets[i]);
  }
  const std::uint64_t moves = cells.load_moves();
  const std::uint64_t stash_mask = cells.load_stash_mask();
  for (std::size_t i = 0; i < count; ++i) {
    words[i] = cells.load_bucket(buckets[i]);
  }
  const BatchMatches matches = Lanes::template compare<Bucket>(words, fingerprints, count);
  std::uint64_t found = matches.found;
  const std::uint64_t two_buckets = matches.overflowed & ~found & all;
  if (two_buckets != 0) {
    found |=
        lookup_second_buckets<Bucket, Lanes>(cells, addressing, two_buckets, buckets, fingerprints);
  }

  std::uint64_t unsettled = 0;
  if (stash_mask != 0) {
    unsettled = all & ~found;
  } else if (cells.recheck_moves() != moves) {
    unsettled = two_buckets & ~found;
  }
  for (; unsettled != 0; unsettled &= unsettled - 1) {
    const auto key = static_cast<std::size_t>(std::countr_zero(unsettled));
    found |= static_cast<std::uint64_t>(lookup<Bucket>(cells, addressing, hashes[key])) << key;
  }
  return found & all;
}

#if !defined(__clang__)
#pragma GCC diagnostic pop
#endif

}  // namespace cuckooguard::filter
