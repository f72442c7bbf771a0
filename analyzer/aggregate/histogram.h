// SPDX-License-Identifier: MIT
// How long single calls took: for each function a histogram with logarithmic buckets, 16 to each
// power of two, so that a value read from it is off by at most 1/32 (3.2 %); below 16 ns it is
// exact. And the sum of the squares, exact, for the standard deviation.
//
// Invariant: adding two histograms gives the same whatever the order (integers only), so profiles
// can be merged in any order.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analyzer/decode/model.h"
#include "analyzer/decode/random_hash.h"

namespace luatrace {

constexpr uint32_t kSubBuckets = 16;
constexpr uint32_t kBuckets = 61 * kSubBuckets;  // For every 64-bit value.

inline uint32_t bucket_of(uint64_t ns) {
  const auto above = static_cast<uint32_t>(std::bit_width(ns | kSubBuckets)) - 5;
  return above * kSubBuckets + static_cast<uint32_t>(ns >> above);
}
// The smallest value of a bucket; of the one behind it: one more than its largest.
inline uint64_t bucket_begin(uint32_t bucket) {
  if (bucket < kSubBuckets) return bucket;
  if (bucket >= kBuckets) return UINT64_MAX;
  return uint64_t{kSubBuckets + bucket % kSubBuckets} << (bucket / kSubBuckets - 1);
}

using Square = unsigned __int128;

// Buckets that have something, in rising order.
struct HistogramBucket {
  uint32_t bucket = 0;
  uint64_t count = 0;
};
struct Distribution {
  std::vector<HistogramBucket> buckets;
  Square squares = 0;  // Sum of ns * ns; saturates.

  void add(const Distribution& other);
  uint64_t count() const;
  // The value that `percent` of all values do not exceed, between min and max. 0 if empty.
  uint64_t percentile(double percent, uint64_t min, uint64_t max) const;
};

// Standard deviation of n values with this sum and sum of squares.
double deviation(uint64_t n, uint64_t sum, Square squares);
Square saturating_add(Square a, Square b);

// Of the calls of a function that were seen from beginning to end: running time of each, in ticks.
struct CallStats {
  uint64_t min = UINT64_MAX;
  uint64_t max = 0;
  uint64_t sum = 0;
  uint64_t complete = 0;

  CallStats& operator+=(const CallStats& other) {
    min = std::min(min, other.min);
    max = std::max(max, other.max);
    sum += other.sum;
    complete += other.complete;
    return *this;
  }
};

// One call that ended, in ticks.
struct EndedCall {
  uint64_t ticks;
  uint32_t function;
};

// Statistics and histograms of all functions while a trace is read. What this costs is cache
// misses, so everything that each call touches is small: half a line for the function's sums, and a
// byte for each bucket of a window around the times that it takes. What does not fit there (256
// calls, times of seconds) goes to tables that are hardly ever used.
class Histograms {
 public:
  void set_clock(const Clock& clock);
  void add(uint32_t function, uint64_t ticks) { add_one({ticks, function}); }
  // Many at once: the processor works on several of them at a time, which it cannot do while each
  // waits for the next event to be understood.
  void add(const EndedCall* calls, size_t n);
  void add(const Histograms& other);
  CallStats stats(uint32_t function) const;
  Distribution of(uint32_t function) const;

 private:
  struct alignas(32) Row {
    uint64_t sum = 0;
    uint64_t squares = 0;                // The lower half.
    uint32_t min = UINT32_MAX, max = 0;  // Of those that fit; the others are in Rest.
    uint32_t offset = 0;                 // Where in counts_ bucket 0 would be, modulo 2^32.
    uint16_t begin = 0, width = 0;       // Its window of buckets.
  };
  struct Rest {
    uint64_t min = UINT64_MAX, max = 0;
    uint64_t squares_high = 0;
  };
  void add_one(EndedCall call);
  void add_square(uint32_t function, Square square);
  void add_count(uint32_t function, uint32_t bucket, uint64_t n);
  void widen(Row& row, uint32_t bucket);
  uint64_t count(uint32_t function, uint32_t bucket) const;
  void make_room(uint32_t functions) {
    rows_.resize(functions);
    rest_.resize(functions);
  }
  static uint64_t key(uint32_t function, uint32_t bucket) {
    return uint64_t{function} << 32 | bucket;
  }

  Clock clock_;
  uint64_t short_ticks_ = 0;  // Below it ticks fit into 32 bits, ticks * mult and ns * ns into 64.
  std::vector<Row> rows_;
  std::vector<uint8_t> counts_;
  std::vector<Rest> rest_;
  std::unordered_map<uint64_t, uint64_t, RandomHash> more_;  // By key(): what counts_ cannot hold.
};

}  // namespace luatrace
