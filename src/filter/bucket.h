// A bucket: one 64-bit word of fingerprints and overflow bits. Pure functions on the word's value.
//
//   w12:   63  60 59        48 47        36 35        24 23        12 11         0
//         +------+------------+------------+------------+------------+------------+
//         | over |   slot 4   |   slot 3   |   slot 2   |   slot 1   |   slot 0   |
//         +------+------------+------------+------------+------------+------------+
//
// A slot of 0 is free; fingerprints are 1 .. 2^bits - 1. The class of a fingerprint, its lowest
// bits, says which overflow bit speaks for it.
//
// Threads:   pure.
// Source:    comparing all slots at once: "determine if a word has a zero byte", H. S. Warren,
//            "Hacker's Delight", 2nd ed., section 6-1, here with slots of any width.
#pragma once

#include <bit>
#include <cstdint>

#include "filter/sizing.h"

namespace cuckooguard::filter {

template <Layout kLayout>
struct Bucket {
  static constexpr LayoutShape kShape = shape_of(kLayout);
  static constexpr unsigned kSlots = kShape.slots;
  static constexpr unsigned kBits = kShape.bits;
  static constexpr unsigned kOverflowBits = kShape.overflow_bits;
  static constexpr unsigned kOverflowShift = 64 - kOverflowBits;
  static constexpr std::uint64_t kFingerprintMax = (1ULL << kBits) - 1;

  static constexpr std::uint64_t in_every_slot(std::uint64_t value) {
    std::uint64_t word = 0;
    for (unsigned slot = 0; slot < kSlots; ++slot) {
      word |= value << (slot * kBits);
    }
    return word;
  }
  static constexpr std::uint64_t kLowBits = in_every_slot(1);
  static constexpr std::uint64_t kTopBits = in_every_slot(1ULL << (kBits - 1));
  static constexpr std::uint64_t kBelowTop = in_every_slot((1ULL << (kBits - 1)) - 1);

  static_assert(kSlots * kBits + kOverflowBits == 64, "the word is used up");
  static_assert(std::has_single_bit(kOverflowBits) || kOverflowBits == 0, "classes are low bits");

  // Exact as a yes or no; above the lowest equal slot a borrow may raise bits that mean nothing.
  static std::uint64_t lowest_match(std::uint64_t word, std::uint64_t fingerprint) {
    const std::uint64_t difference = word ^ (fingerprint * kLowBits);
    return (difference - kLowBits) & ~difference & kTopBits;
  }
  static bool contains(std::uint64_t word, std::uint64_t fingerprint) {
    return lowest_match(word, fingerprint) != 0;
  }
  // kSlots if there is none.
  static unsigned find(std::uint64_t word, std::uint64_t fingerprint) {
    const std::uint64_t match = lowest_match(word, fingerprint);
    return match == 0 ? kSlots : static_cast<unsigned>(std::countr_zero(match)) / kBits;
  }
  static unsigned find_free(std::uint64_t word) { return find(word, 0); }
  static unsigned count(std::uint64_t word, std::uint64_t fingerprint) {
    const std::uint64_t difference = word ^ (fingerprint * kLowBits);
    const std::uint64_t other = ((difference & kBelowTop) + kBelowTop) | difference;
    return static_cast<unsigned>(std::popcount(~other & kTopBits));
  }
  static unsigned used(std::uint64_t word) { return kSlots - count(word, 0); }

  static std::uint64_t get(std::uint64_t word, unsigned slot) {
    return (word >> (slot * kBits)) & kFingerprintMax;
  }
  // `slot` is there: whoever asks has found it.
  static std::uint64_t with(std::uint64_t word, unsigned slot, std::uint64_t fingerprint) {
    const unsigned shift = slot * kBits;
    // NOLINTNEXTLINE(clang-analyzer-core.BitwiseShift): see above
    return (word & ~(kFingerprintMax << shift)) | (fingerprint << shift);
  }

  static std::uint64_t overflow_bit(std::uint64_t fingerprint) {
    if constexpr (kOverflowBits == 0) {
      return 0;
    } else {
      return (1ULL << kOverflowShift) << (fingerprint & (kOverflowBits - 1));
    }
  }
  // False: no fingerprint of this class has ever left this bucket or been turned away from it.
  static bool overflowed(std::uint64_t word, std::uint64_t fingerprint) {
    return kOverflowBits == 0 || (word & overflow_bit(fingerprint)) != 0;
  }
};

// Calls visit(Bucket<layout>{}) for a layout known only at run time.
template <class Visitor>
decltype(auto) with_bucket(Layout layout, const Visitor& visit) {
  switch (layout) {
    case Layout::w8:
      return visit(Bucket<Layout::w8>{});
    case Layout::w10:
      return visit(Bucket<Layout::w10>{});
    case Layout::w15:
      return visit(Bucket<Layout::w15>{});
    case Layout::w16:
      return visit(Bucket<Layout::w16>{});
    case Layout::w20:
      return visit(Bucket<Layout::w20>{});
    case Layout::w12:
      break;
  }
  return visit(Bucket<Layout::w12>{});
}

}  // namespace cuckooguard::filter
