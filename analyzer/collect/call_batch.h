// SPDX-License-Identifier: MIT
// Some ended calls of one function at once: what a histogram needs of each costs a fraction of
// what it costs one by one, since the processor does eight in a step.
//
// Invariant: the same numbers as Clock::ns() and bucket_of() give, for ticks below 2^31 of which
// the product with the clock's factor is below 2^64, and the nanoseconds below 2^29.
#pragma once

#include <cstdint>

namespace luatrace::analyze {

constexpr uint32_t kBatchSize = 32;  // At most: the sum of the squares is below 2^64.

struct alignas(64) CallBatch {
  uint32_t ticks[kBatchSize];
};

// What is the same for all calls: ns = ticks * mult >> shift.
struct Rate {
  uint64_t mult = 1;
  uint32_t shift = 0;
};

struct BatchSums {
  uint32_t place[kBatchSize];       // Bucket of each, plus what was asked for.
  uint64_t ticks = 0, squares = 0;  // Sums; squares of ns.
  bool within = true;               // All ticks are between min and max.
};

// Modulo 2^32 each place is `offset` + bucket.
BatchSums sums_of(const CallBatch& calls, Rate rate, uint32_t offset, uint32_t min, uint32_t max);
// The same without what only some processors can do.
BatchSums plain_sums_of(const CallBatch& calls, Rate rate, uint32_t offset, uint32_t min,
                        uint32_t max);

}  // namespace luatrace::analyze
