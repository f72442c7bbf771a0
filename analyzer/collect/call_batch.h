// SPDX-License-Identifier: MIT
// Processes ended calls of one function in batches: the values that a histogram needs cost a
// fraction of what they cost one by one, since AVX2 computes eight at a time.
//
// Invariant: the results equal those of Clock::ns() and bucket_of() for ticks below 2^31, if the
// product with the clock's factor is below 2^64 and the time below 2^29 ns.
#pragma once

#include <cstdint>

namespace luatrace::analyze {

constexpr uint32_t kBatchSize = 32;  // The limit up to which the sum of squares is below 2^64.

struct alignas(64) CallBatch {
  uint32_t ticks[kBatchSize];
};

// Conversion of ticks: ns = ticks * mult >> shift.
struct Rate {
  uint64_t mult = 1;
  uint32_t shift = 0;
};

struct BatchSums {
  uint32_t place[kBatchSize];       // Bucket of each call, plus `offset`.
  uint64_t ticks = 0, squares = 0;  // Sums of ticks and of squared ns.
  bool within = true;               // All ticks are between min and max.
};

// Each place is `offset` + bucket modulo 2^32. min, max: in ticks, inclusive.
BatchSums sums_of(const CallBatch& calls, Rate rate, uint32_t offset, uint32_t min, uint32_t max);
// The same in portable code, without AVX2.
BatchSums plain_sums_of(const CallBatch& calls, Rate rate, uint32_t offset, uint32_t min,
                        uint32_t max);

}  // namespace luatrace::analyze
