// SPDX-License-Identifier: MIT
// How long single calls took: for each function a histogram with logarithmic buckets, 16 to each
// power of two, so that a value read from it is off by at most 1/32 (3.2 %); below 16 ns it is
// exact. And the sum of the squares, exact, for the standard deviation.
//
// Invariant: adding two histograms gives the same whatever the order (integers only), so profiles
// can be merged in any order.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
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

// The histograms of all functions while a trace is read. A function has a table of powers of two,
// and counters only for those that occurred.
class Histograms {
 public:
  void set_clock(const Clock& clock) { clock_ = clock; }
  void add(uint32_t function, uint64_t ticks) {
    if (function >= rows_.size()) [[unlikely]]
      rows_.resize(2 * size_t{function} + 64);
    Row& row = rows_[function];
    const uint64_t ns = clock_.ns(ticks);
    const uint32_t bucket = bucket_of(ns);
    uint32_t& chunk = row.chunks[bucket / kSubBuckets];
    if (chunk == 0) [[unlikely]]
      chunk = new_chunk();
    chunks_[chunk][bucket % kSubBuckets]++;
    row.squares += Square{ns} * ns;
  }
  Distribution of(uint32_t function) const;

 private:
  struct Row {
    Square squares = 0;
    std::array<uint32_t, kBuckets / kSubBuckets> chunks{};
  };
  uint32_t new_chunk();

  Clock clock_;
  std::vector<Row> rows_;
  std::vector<std::array<uint64_t, kSubBuckets>> chunks_{1};  // 0: none.
};

}  // namespace luatrace
