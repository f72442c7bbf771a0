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
};

// One call that ended, in ticks.
struct EndedCall {
  uint64_t ticks;
  uint32_t function;
};

// Statistics and histograms of all functions while a trace is read. What this costs is cache
// misses, so a call touches two lines: the function's row and, of its histogram, the line of a
// power of two. Counts have 32 bits; what they cannot hold is in a map that is hardly ever used.
class Histograms {
 public:
  void set_clock(const Clock& clock);
  void add(uint32_t function, uint64_t ticks) { add_one({ticks, function}); }
  // Many at once: the processor works on several of them at a time, which it cannot do while each
  // waits for the next event to be understood.
  void add(const EndedCall* calls, size_t n) {
    for (size_t i = 0; i < n; i++) add_one(calls[i]);
  }
  void add(const Histograms& other);
  CallStats stats(uint32_t function) const;
  Distribution of(uint32_t function) const;

 private:
  struct alignas(64) Row {
    uint64_t min = UINT64_MAX, max = 0, sum = 0;
    uint64_t squares_low = 0, squares_high = 0;
    uint32_t begin = 0, width = 0;  // Its window of buckets: that many from this one on, ...
    uint32_t offset = 0;            // ... and, modulo 2^32, where bucket 0 would be in counts_.
  };
  void add_one(EndedCall call);
  void add_square(Row& row, Square square);
  void widen(Row& row, uint32_t bucket);
  uint64_t count(uint32_t function, uint32_t bucket) const;

  Clock clock_;
  uint64_t short_ticks_ = 0;  // Below it ticks * mult and ns * ns fit into 64 bits.
  std::vector<Row> rows_;
  std::vector<uint32_t> counts_;
  std::unordered_map<uint64_t, uint64_t> overflows_;  // By function << 32 | bucket: times 2^32.
};

inline void Histograms::add_one(EndedCall call) {
  if (call.function >= rows_.size()) [[unlikely]]
    rows_.resize(2 * size_t{call.function} + 64);
  Row& row = rows_[call.function];
  if (call.ticks < row.min) row.min = call.ticks;
  if (call.ticks > row.max) row.max = call.ticks;
  row.sum += call.ticks;
  uint64_t ns;
  if (call.ticks < short_ticks_) [[likely]] {
    ns = call.ticks * clock_.mult >> clock_.shift;
    if (__builtin_add_overflow(row.squares_low, ns * ns, &row.squares_low)) [[unlikely]]
      row.squares_high++;
  } else {
    ns = clock_.ns(call.ticks);
    add_square(row, Square{ns} * ns);
  }
  const uint32_t bucket = bucket_of(ns);
  if (bucket - row.begin >= row.width) [[unlikely]]
    widen(row, bucket);
  if (++counts_[row.offset + bucket] == 0) [[unlikely]]
    overflows_[uint64_t{call.function} << 32 | bucket]++;
}

}  // namespace luatrace
