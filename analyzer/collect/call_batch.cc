// SPDX-License-Identifier: MIT
#include "analyzer/collect/call_batch.h"

#include <bit>
#include <cstddef>
#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace luatrace::analyze {
namespace {

// The number of a bucket (16 per power of two) is the exponent of a floating point number and the
// first four bits of its fraction. Bits after the eighth are cleared to prevent rounding up.
constexpr int kFloatBucket = 130 * 16;  // Subtracted so that the bucket of 16 ns is 16.
constexpr int kCut = 8, kFloatShift = 19;

#ifdef __x86_64__

#define LUATRACE_AVX2 [[gnu::target("avx2")]]

LUATRACE_AVX2 inline __m256i buckets_of(__m256i ns) {
  const __m256i cut = _mm256_andnot_si256(_mm256_srli_epi32(ns, kCut), ns);
  const __m256i bits = _mm256_castps_si256(_mm256_cvtepi32_ps(cut));
  const __m256i bucket =
      _mm256_sub_epi32(_mm256_srli_epi32(bits, kFloatShift), _mm256_set1_epi32(kFloatBucket));
  // Below 16 ns, `bucket` is less than the right one, which is ns; otherwise it is at least 16.
  return _mm256_max_epi32(bucket, _mm256_min_epi32(ns, _mm256_set1_epi32(15)));
}

// Converts four tick counts of 64 bits each.
LUATRACE_AVX2 inline __m256i ns_of(__m256i ticks, __m256i mult, __m128i shift) {
  const __m256i upper = _mm256_mul_epu32(ticks, _mm256_srli_epi64(mult, 32));
  const __m256i lower = _mm256_mul_epu32(ticks, mult);
  return _mm256_srl_epi64(_mm256_add_epi64(lower, _mm256_slli_epi64(upper, 32)), shift);
}

LUATRACE_AVX2 inline uint64_t sum(__m256i v) {
  const __m128i two = _mm_add_epi64(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  return static_cast<uint64_t>(_mm_cvtsi128_si64(two)) +
         static_cast<uint64_t>(_mm_extract_epi64(two, 1));
}

LUATRACE_AVX2 void avx2_sums_of(const CallBatch& calls, Rate rate, uint32_t offset, uint32_t min,
                                uint32_t max, BatchSums& out) {
  const __m256i mult = _mm256_set1_epi64x(static_cast<int64_t>(rate.mult));
  const __m128i shift = _mm_cvtsi32_si128(static_cast<int>(rate.shift));
  const __m256i begin = _mm256_set1_epi32(static_cast<int>(offset));
  const __m256i low = _mm256_set1_epi32(static_cast<int>(min));
  const __m256i high = _mm256_set1_epi32(static_cast<int>(max));
  const __m256i zero = _mm256_setzero_si256();
  __m256i ticks = zero, squares = zero, outside = zero;
  for (size_t i = 0; i < kBatchSize; i += 8) {
    const __m256i v = _mm256_load_si256(reinterpret_cast<const __m256i*>(calls.ticks + i));
    outside = _mm256_or_si256(outside, _mm256_cmpgt_epi32(low, v));
    outside = _mm256_or_si256(outside, _mm256_cmpgt_epi32(v, high));
    const __m256i odd = _mm256_srli_epi64(v, 32), even = _mm256_blend_epi32(v, zero, 0xaa);
    ticks = _mm256_add_epi64(ticks, _mm256_add_epi64(even, odd));
    const __m256i a = ns_of(even, mult, shift), b = ns_of(odd, mult, shift);
    squares = _mm256_add_epi64(squares, _mm256_mul_epu32(a, a));
    squares = _mm256_add_epi64(squares, _mm256_mul_epu32(b, b));
    const __m256i ns = _mm256_or_si256(a, _mm256_slli_epi64(b, 32));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out.place + i),
                        _mm256_add_epi32(buckets_of(ns), begin));
  }
  out.ticks = sum(ticks);
  out.squares = sum(squares);
  out.within = _mm256_testz_si256(outside, outside);
}

#undef LUATRACE_AVX2

const bool kHasAvx2 = (__builtin_cpu_init(), __builtin_cpu_supports("avx2"));

#endif

void any_sums_of(const CallBatch& calls, Rate rate, uint32_t offset, uint32_t min, uint32_t max,
                 BatchSums& out) {
  for (size_t i = 0; i < kBatchSize; i++) {
    const uint32_t ticks = calls.ticks[i];
    const uint64_t ns = ticks * rate.mult >> rate.shift;
    const auto cut = static_cast<float>(static_cast<int32_t>(ns & ~(ns >> kCut)));
    const uint32_t bucket = (std::bit_cast<uint32_t>(cut) >> kFloatShift) - kFloatBucket;
    out.place[i] = offset + (ns < 16 ? static_cast<uint32_t>(ns) : bucket);
    out.ticks += ticks;
    out.squares += ns * ns;
    out.within &= ticks >= min && ticks <= max;
  }
}

}  // namespace

BatchSums plain_sums_of(const CallBatch& calls, Rate rate, uint32_t offset, uint32_t min,
                        uint32_t max) {
  BatchSums out;
  any_sums_of(calls, rate, offset, min, max, out);
  return out;
}

BatchSums sums_of(const CallBatch& calls, Rate rate, uint32_t offset, uint32_t min, uint32_t max) {
  BatchSums out;  // Shared by all branches, so that it is not copied.
#ifdef __x86_64__
  if (kHasAvx2)
    avx2_sums_of(calls, rate, offset, min, max, out);
  else
#endif
    any_sums_of(calls, rate, offset, min, max, out);
  return out;
}

}  // namespace luatrace::analyze
