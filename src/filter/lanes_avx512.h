// Batch arithmetic with AVX-512, eight keys at a time. Only run where kernel_supported(avx512).
//
// The columns are read and written in whole groups of eight; what stands behind `count` is computed
// on and thrown away.
#pragma once

#if defined(__x86_64__)

// g++ 12 takes its own _mm512_undefined_epi32() for a mistake (GCC bug 105593).
#if !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

#include <immintrin.h>

#include "filter/batch_lookup.h"

#define CUCKOOGUARD_AVX512 [[gnu::target("avx512f,avx512dq,avx512bw,avx512vl")]]

namespace cuckooguard::filter {

struct Avx512Lanes {
  static constexpr std::size_t kWidth = 8;

  static constexpr long long as_signed(std::uint64_t bits) { return static_cast<long long>(bits); }

  template <class Bucket>
  CUCKOOGUARD_AVX512 static void address(std::span<const std::uint64_t> hashes,
                                         std::uint64_t bucket_count,
                                         BatchColumn& buckets,
                                         BatchColumn& fingerprints) {
    const __m512i range = _mm512_set1_epi64(as_signed(bucket_count));
    const __m512i max = _mm512_set1_epi64(as_signed(Bucket::kFingerprintMax));
    const __m512i one = _mm512_set1_epi64(1);
    for (std::size_t i = 0; i < hashes.size(); i += kWidth) {
      const std::size_t left = hashes.size() - i;
      const auto mask = static_cast<__mmask8>(lowest_bits(left < kWidth ? left : kWidth));
      const __m512i hash = _mm512_maskz_loadu_epi64(mask, hashes.data() + i);
      const __m512i high = _mm512_srli_epi64(hash, 32);
      const __m512i bucket = _mm512_srli_epi64(_mm512_mul_epu32(high, range), 32);
      const __m512i scaled = _mm512_srli_epi64(_mm512_mul_epu32(hash, max), 32);
      _mm512_store_si512(buckets.data() + i, bucket);
      _mm512_store_si512(fingerprints.data() + i, _mm512_add_epi64(scaled, one));
    }
  }

  template <class Bucket>
  CUCKOOGUARD_AVX512 static BatchMatches compare(const BatchColumn& words,
                                                 const BatchColumn& fingerprints,
                                                 std::size_t count) {
    const __m512i low = _mm512_set1_epi64(as_signed(Bucket::kLowBits));
    const __m512i top = _mm512_set1_epi64(as_signed(Bucket::kTopBits));
    BatchMatches matches;
    for (std::size_t i = 0; i < count; i += kWidth) {
      const __m512i word = _mm512_load_si512(words.data() + i);
      const __m512i fingerprint = _mm512_load_si512(fingerprints.data() + i);
      const __m512i difference = _mm512_xor_si512(word, _mm512_mullo_epi64(fingerprint, low));
      const __m512i borrowed = _mm512_sub_epi64(difference, low);
      const __m512i match = _mm512_andnot_si512(difference, borrowed);
      const std::uint64_t found = _mm512_test_epi64_mask(match, top);
      matches.found |= found << i;
      matches.overflowed |= static_cast<std::uint64_t>(overflowed<Bucket>(word, fingerprint)) << i;
    }
    return matches;
  }

 private:
  template <class Bucket>
  CUCKOOGUARD_AVX512 static __mmask8 overflowed(__m512i word, __m512i fingerprint) {
    if constexpr (Bucket::kOverflowBits == 0) {
      return 0xFF;
    } else {
      const __m512i first_bit = _mm512_set1_epi64(as_signed(1ULL << Bucket::kOverflowShift));
      const __m512i classes = _mm512_set1_epi64(Bucket::kOverflowBits - 1);
      const __m512i bit = _mm512_sllv_epi64(first_bit, _mm512_and_si512(fingerprint, classes));
      return _mm512_test_epi64_mask(word, bit);
    }
  }
};

}  // namespace cuckooguard::filter

#undef CUCKOOGUARD_AVX512

#if !defined(__clang__)
#pragma GCC diagnostic pop
#endif
#endif
