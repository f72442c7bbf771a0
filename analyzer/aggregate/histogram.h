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
  if (ns < kSubBuckets) return static_cast<uint32_t>(ns);
  auto power = static_cast<uint32_t>(std::bit_width(ns)) - 1;
  return (power - 3) * kSubBuckets + static_cast<uint32_t>(ns >> (power - 4) & (kSubBuckets - 1));
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

// Statistics and histograms of all functions while a trace is read. What this costs is cache
// misses, so a call touches two lines: the function's row and, of its histogram, the line of a
// power of two. Lines hold 32 bits for each bucket; what they cannot hold is in a map that is
// hardly ever used.
class Histograms {
 public:
  void set_clock(const Clock& clock) { clock_ = clock; }
  void add(uint32_t function, uint64_t ticks) {
    if (function >= rows_.size()) [[unlikely]]
      rows_.resize(2 * size_t{function} + 64);
    Row& row = rows_[function];
    const uint64_t ns = clock_.ns(ticks);
    row.stats.min = std::min(row.stats.min, ticks);
    row.stats.max = std::max(row.stats.max, ticks);
    row.stats.sum += ticks;
    row.stats.complete++;
    row.squares += Square{ns} * ns;
    const uint32_t bucket = bucket_of(ns), power = bucket / kSubBuckets;
    if (power - row.low >= row.powers) [[unlikely]]
      widen(row, power);
    uint32_t& count = lines_[row.first + power - row.low][bucket % kSubBuckets];
    if (++count == 0) [[unlikely]]
      overflows_[uint64_t{function} << 32 | bucket]++;
  }
  CallStats stats(uint32_t function) const {
    return function < rows_.size() ? rows_[function].stats : CallStats{};
  }
  Distribution of(uint32_t function) const;

 private:
  struct alignas(64) Row {
    CallStats stats;
    Square squares = 0;
    uint32_t first = 0;            // Of its lines.
    uint16_t low = 0, powers = 0;  // Which powers of two they are for.
  };
  using Line = std::array<uint32_t, kSubBuckets>;
  void widen(Row& row, uint32_t power);

  Clock clock_;
  std::vector<Row> rows_;
  std::vector<Line> lines_;
  std::unordered_map<uint64_t, uint64_t> overflows_;  // By function << 32 | bucket: times 2^32.
};

}  // namespace luatrace
