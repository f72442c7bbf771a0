// SPDX-License-Identifier: MIT
// How long single calls took: for each function a histogram with logarithmic buckets, 16 per power
// of two, so that a value read from it is off by at most 1/32 (3.2 %); below 16 ns it is exact.
// And the exact sum of the squares, for the standard deviation.
//
// Invariant: adding histograms gives the same result in any order (integers only), so profiles can
// be merged in any order.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analyzer/collect/call_batch.h"
#include "analyzer/machine/functions.h"
#include "analyzer/read/model.h"
#include "base/random_hash.h"

namespace luatrace::analyze {

constexpr uint32_t kSubBuckets = 16;
constexpr uint32_t kBuckets = 61 * kSubBuckets;  // For every 64-bit value.

inline uint32_t bucket_of(uint64_t ns) {
  const auto above = static_cast<uint32_t>(std::bit_width(ns | kSubBuckets)) - 5;
  return above * kSubBuckets + static_cast<uint32_t>(ns >> above);
}
// The smallest value of a bucket in ns; for bucket + 1, one more than the largest of `bucket`.
inline uint64_t bucket_begin(uint32_t bucket) {
  if (bucket < kSubBuckets) return bucket;
  if (bucket >= kBuckets) return UINT64_MAX;
  return uint64_t{kSubBuckets + bucket % kSubBuckets} << (bucket / kSubBuckets - 1);
}

using Square = unsigned __int128;

// One bucket that is not empty.
struct HistogramBucket {
  uint32_t bucket = 0;
  uint64_t count = 0;
  bool operator==(const HistogramBucket&) const = default;
};
struct Distribution {
  std::vector<HistogramBucket> buckets;  // In rising order.
  Square squares = 0;                    // Sum of ns * ns; saturates.
  bool operator==(const Distribution&) const = default;

  void add(const Distribution& other);
  uint64_t count() const;
  // The value in ns that `percent` of all values do not exceed, between min and max. 0 if empty.
  uint64_t percentile(double percent, uint64_t min, uint64_t max) const;
};

// Standard deviation of n values with this sum and sum of squares.
double deviation(uint64_t n, uint64_t sum, Square squares);
Square saturating_add(Square a, Square b);

// Inclusive times, in ticks, of the calls of a function that were seen from beginning to end.
struct CallTimes {
  uint64_t min = UINT64_MAX;
  uint64_t max = 0;
  uint64_t sum = 0;
  uint64_t complete = 0;

  CallTimes& operator+=(const CallTimes& other) {
    min = std::min(min, other.min);
    max = std::max(max, other.max);
    sum += other.sum;
    complete += other.complete;
    return *this;
  }
};

// Calls inside segments: the times of the single calls are not known (docs/semantics.md), only
// their sum.
struct InsideCalls {
  uint64_t inside = 0, inside_sum = 0;

  InsideCalls& operator+=(const InsideCalls& other) {
    inside += other.inside;
    inside_sum += other.inside_sum;
    return *this;
  }
};

// Both, for one function.
struct CallStats : CallTimes, InsideCalls {
  CallStats() = default;
  CallStats(const CallTimes& times, const InsideCalls& calls)
      : CallTimes(times), InsideCalls(calls) {}
  CallStats& operator+=(const CallStats& other) {
    CallTimes::operator+=(other);
    InsideCalls::operator+=(other);
    return *this;
  }
};

// Statistics and histograms of all functions while a trace is read. A call costs one store to its
// function's batch; a full batch is counted at once (collect/call_batch.h), in a window of buckets
// around the function's usual times. What exceeds that (65536 calls, half a second) goes to rarely
// used tables. For many functions, neither row nor window is in the processor's cache: both are
// prefetched while a full batch waits for two more batches to fill.
class Histograms {
 public:
  void set_clock(const Clock& clock);
  void add(FunctionId function, uint64_t ticks);
  // The same, but may be deferred until settle(), which must be called before any query.
  [[gnu::always_inline]] void add_later(FunctionId function, uint64_t ticks) {
    if (function >= functions_ || ticks >= short_ticks_) [[unlikely]]
      return add(function, ticks);
    const uint32_t n = filled_[function];
    waiting_[function].ticks[n] = static_cast<uint32_t>(ticks);
    filled_[function] = static_cast<uint16_t>(n + 1);
    if (n + 1 == kBatchSize) queue_full_batch(function);
  }
  void settle();
  void add(const Histograms& other);
  CallTimes stats(FunctionId function) const;
  Distribution of(FunctionId function) const;

 private:
  static constexpr uint32_t kNoMin = INT32_MAX;
  static constexpr FunctionId kUnused{UINT32_MAX};
  struct alignas(64) Row {
    uint64_t sum = 0;
    uint64_t squares = 0;            // The lower half.
    uint32_t min = kNoMin, max = 0;  // Of batched calls; those of others are in Rest.
    uint32_t offset = 0;             // Where in counts_ bucket 0 would be, modulo 2^32.
    uint16_t begin = 0, width = 0;   // Window of buckets: has all between min and max.
    uint32_t counted = 0;            // Sum of the row's counts_.
  };
  struct Rest {
    uint64_t min = UINT64_MAX, max = 0;
    uint64_t squares_high = 0;
  };
  // A full batch whose row and window are being prefetched.
  struct Full {
    CallBatch calls;
    FunctionId function = kUnused;
  };
  void queue_full_batch(FunctionId function);
  void fetch_counts(const Full& full) const;
  void count_batch(Full& full);
  void extend(Row& row, const CallBatch& calls);
  void spill(FunctionId function);
  void add_square(FunctionId function, Square square);
  void add_count(FunctionId function, uint32_t bucket, uint64_t n);
  void widen(Row& row, uint32_t bucket);
  uint64_t count(FunctionId function, uint32_t bucket) const;
  void resize_tables(size_t functions);

  Clock clock_;
  Rate rate_;                 // The same for batched calls, ...
  uint64_t short_ticks_ = 0;  // ... which are shorter than this, as call_batch.h requires.
  size_t functions_ = 0;      // Size of all vectors indexed by function.
  std::vector<CallBatch> waiting_;
  std::vector<uint16_t> filled_;  // Calls in the batch; not bytes, which may alias anything.
  std::array<Full, 2> full_;
  uint32_t oldest_ = 0;  // Index in full_.
  std::vector<Row> rows_;
  std::vector<uint16_t> counts_;
  std::vector<Rest> rest_;
  std::unordered_map<uint64_t, uint64_t, RandomHash>
      more_;  // By function and bucket: overflow of counts_.
};

}  // namespace luatrace::analyze
