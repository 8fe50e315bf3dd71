// Batch arithmetic with AVX2, four keys at a time. Only run where kernel_supported(avx2).
//
// The columns are read and written in whole groups of four; what stands behind `count` is computed
// on and thrown away.
#pragma once

#if defined(__x86_64__)

#include <immintrin.h>

#include "filter/batch_lookup.h"

#define CUCKOOGUARD_AVX2 [[gnu::target("avx2")]]

namespace cuckooguard::filter {

struct Avx2Lanes {
  static constexpr std::size_t kWidth = 4;

  static constexpr long long as_signed(std::uint64_t bits) { return static_cast<long long>(bits); }

  template <class Bucket>
  CUCKOOGUARD_AVX2 static void address(std::span<const std::uint64_t> hashes,
                                       std::uint64_t bucket_count,
                                       BatchColumn& buckets,
                                       BatchColumn& fingerprints) {
    const __m256i range = _mm256_set1_epi64x(as_signed(bucket_count));
    const __m256i max = _mm256_set1_epi64x(as_signed(Bucket::kFingerprintMax));
    const __m256i one = _mm256_set1_epi64x(1);
    for (std::size_t i = 0; i < hashes.size(); i += kWidth) {
      const __m256i hash = load(hashes, i);
      const __m256i high = _mm256_srli_epi64(hash, 32);
      const __m256i bucket = _mm256_srli_epi64(_mm256_mul_epu32(high, range), 32);
      const __m256i scaled = _mm256_srli_epi64(_mm256_mul_epu32(hash, max), 32);
      _mm256_store_si256(at(buckets, i), bucket);
      _mm256_store_si256(at(fingerprints, i), _mm256_add_epi64(scaled, one));
    }
  }

  template <class Bucket>
  CUCKOOGUARD_AVX2 static BatchMatches compare(const BatchColumn& words,
                                               const BatchColumn& fingerprints,
                                               std::size_t count) {
    const __m256i low = _mm256_set1_epi64x(as_signed(Bucket::kLowBits));
    const __m256i low_upper = _mm256_set1_epi64x(as_signed(Bucket::kLowBits >> 32));
    const __m256i top = _mm256_set1_epi64x(as_signed(Bucket::kTopBits));
    const __m256i zero = _mm256_setzero_si256();
    BatchMatches matches;
    for (std::size_t i = 0; i < count; i += kWidth) {
      const __m256i word = _mm256_load_si256(at(words, i));
      const __m256i fingerprint = _mm256_load_si256(at(fingerprints, i));
      // fingerprint x kLowBits, 64 bits of it, from two 32 x 32 products
      const __m256i upper = _mm256_slli_epi64(_mm256_mul_epu32(fingerprint, low_upper), 32);
      const __m256i pattern = _mm256_add_epi64(_mm256_mul_epu32(fingerprint, low), upper);
      const __m256i difference = _mm256_xor_si256(word, pattern);
      const __m256i borrowed = _mm256_sub_epi64(difference, low);
      const __m256i match = _mm256_and_si256(_mm256_andnot_si256(difference, borrowed), top);
      matches.found |= (~bits(_mm256_cmpeq_epi64(match, zero)) & 0xF) << i;
      matches.overflowed |= overflowed<Bucket>(word, fingerprint) << i;
    }
    return matches;
  }

 private:
  static __m256i* at(BatchColumn& column, std::size_t i) {
    return reinterpret_cast<__m256i*>(column.data() + i);
  }
  static const __m256i* at(const BatchColumn& column, std::size_t i) {
    return reinterpret_cast<const __m256i*>(column.data() + i);
  }

  CUCKOOGUARD_AVX2 static __m256i load(std::span<const std::uint64_t> hashes, std::size_t i) {
    const std::size_t left = hashes.size() - i;
    const __m256i wanted = _mm256_cmpgt_epi64(_mm256_set1_epi64x(static_cast<long long>(left)),
                                              _mm256_setr_epi64x(0, 1, 2, 3));
    return _mm256_maskload_epi64(reinterpret_cast<const long long*>(hashes.data() + i), wanted);
  }

  CUCKOOGUARD_AVX2 static std::uint64_t bits(__m256i lanes) {
    return static_cast<std::uint64_t>(_mm256_movemask_pd(_mm256_castsi256_pd(lanes))) & 0xF;
  }

  template <class Bucket>
  CUCKOOGUARD_AVX2 static std::uint64_t overflowed(__m256i word, __m256i fingerprint) {
    if constexpr (Bucket::kOverflowBits == 0) {
      return 0xF;
    } else {
      const __m256i first_bit = _mm256_set1_epi64x(as_signed(1ULL << Bucket::kOverflowShift));
      const __m256i classes = _mm256_set1_epi64x(Bucket::kOverflowBits - 1);
      const __m256i bit = _mm256_sllv_epi64(first_bit, _mm256_and_si256(fingerprint, classes));
      const __m256i set = _mm256_and_si256(word, bit);
      return ~bits(_mm256_cmpeq_epi64(set, _mm256_setzero_si256())) & 0xF;
    }
  }
};

}  // namespace cuckooguard::filter

#undef CUCKOOGUARD_AVX2
#endif
