// SPDX-License-Identifier: MIT
#include "analyzer/collect/histogram.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <utility>

namespace luatrace::analyze {

Square saturating_add(Square a, Square b) {
  return a + b < a ? ~Square{0} : a + b;
}

void Distribution::add(const Distribution& other) {
  squares = saturating_add(squares, other.squares);
  std::vector<HistogramBucket> sum;
  sum.reserve(buckets.size() + other.buckets.size());
  auto a = buckets.begin();
  for (const HistogramBucket& b : other.buckets) {
    while (a != buckets.end() && a->bucket < b.bucket) sum.push_back(*a++);
    sum.push_back(b);
    if (a != buckets.end() && a->bucket == b.bucket) sum.back().count += (a++)->count;
  }
  sum.insert(sum.end(), a, buckets.end());
  buckets.swap(sum);
}

uint64_t Distribution::count() const {
  uint64_t n = 0;
  for (const auto& b : buckets) n += b.count;
  return n;
}

uint64_t Distribution::percentile(double percent, uint64_t min, uint64_t max) const {
  const uint64_t n = count();
  if (n == 0) return 0;
  const double rank = std::ceil(percent / 100 * static_cast<double>(n));
  if (rank <= 1) return min;
  if (rank >= static_cast<double>(n)) return max;
  uint64_t below = 0;
  for (const auto& b : buckets) {
    below += b.count;
    if (static_cast<double>(below) < rank) continue;
    uint64_t first = bucket_begin(b.bucket), width = bucket_begin(b.bucket + 1) - first;
    return std::clamp(first + width / 2, min, std::max(min, max));
  }
  return max;
}

double deviation(uint64_t n, uint64_t sum, Square squares) {
  if (n == 0) return 0;
  const auto count = static_cast<long double>(n);
  const long double mean = static_cast<long double>(sum) / count;
  const long double variance = static_cast<long double>(squares) / count - mean * mean;
  return variance > 0 ? static_cast<double>(std::sqrt(variance)) : 0;
}

void Histograms::set_clock(const Clock& clock) {
  clock_ = clock;
  short_ticks_ = 0;
  if (clock.mult == 0 || clock.shift > 63) return;
  rate_ = {clock.mult, clock.shift};
  unsigned __int128 ticks = (static_cast<unsigned __int128>(1) << (29 + clock.shift)) / clock.mult;
  for (uint64_t limit : {UINT64_MAX / clock.mult, uint64_t{INT32_MAX}})
    ticks = std::min<unsigned __int128>(ticks, limit);
  short_ticks_ = static_cast<uint64_t>(ticks);
}

void Histograms::resize_tables(size_t functions) {
  rows_.resize(functions);
  rest_.resize(functions);
  waiting_.resize(functions);
  filled_.resize(functions);
  functions_ = functions;  // Last: if a resize throws, no vector is used at the new size.
}

void Histograms::add(FunctionId function, uint64_t ticks) {
  if (function >= functions_) resize_tables(2 * size_t{function} + 64);
  Rest& rest = rest_[function];
  rest.min = std::min(rest.min, ticks);
  rest.max = std::max(rest.max, ticks);
  rows_[function].sum += ticks;
  const uint64_t ns = clock_.ns(ticks);
  add_square(function, Square{ns} * ns);
  add_count(function, bucket_of(ns), 1);
}

void Histograms::queue_full_batch(FunctionId function) {
  Full& full = full_[oldest_];
  count_batch(full);
  full.calls = waiting_[function];
  full.function = function;
  filled_[function] = 0;
  __builtin_prefetch(&rows_[function], 1);
  oldest_ ^= 1;
  fetch_counts(full_[oldest_]);
}

void Histograms::fetch_counts(const Full& full) const {
  if (full.function == kUnused) return;
  const Row& row = rows_[full.function];
  const uint16_t* const begin = counts_.data() + (row.offset + row.begin);
  for (uint32_t i = 0; i < row.width; i += 64 / sizeof(*begin)) __builtin_prefetch(begin + i, 1);
}

void Histograms::count_batch(Full& full) {
  if (full.function == kUnused) return;
  const CallBatch& calls = full.calls;
  const FunctionId function = std::exchange(full.function, kUnused);
  Row& row = rows_[function];
  BatchSums sums = sums_of(calls, rate_, row.offset, row.min, row.max);
  if (!sums.within) [[unlikely]] {
    const uint32_t before = row.offset;
    extend(row, calls);
    for (uint32_t& place : sums.place) place += row.offset - before;
  }
  if (row.counted > UINT16_MAX - kBatchSize) [[unlikely]]
    spill(function);
  row.counted += kBatchSize;
  row.sum += sums.ticks;
  uint64_t squares;
  if (__builtin_add_overflow(row.squares, sums.squares, &squares)) [[unlikely]]
    add_square(function, sums.squares);
  else
    row.squares = squares;
  uint16_t* const counts = counts_.data();
  for (uint32_t place : sums.place) counts[place]++;
}

// Extends the row: some of the calls are shorter or longer than all before.
void Histograms::extend(Row& row, const CallBatch& calls) {
  for (uint32_t ticks : calls.ticks) {
    row.min = std::min(row.min, ticks);
    row.max = std::max(row.max, ticks);
    const uint32_t bucket = bucket_of(clock_.ns(ticks));
    if (bucket - row.begin >= row.width) widen(row, bucket);
  }
}

// Moves the function's counts to more_, so that they cannot overflow.
void Histograms::spill(FunctionId function) {
  Row& row = rows_[function];
  row.counted = 0;
  for (uint32_t i = row.begin; i < row.begin + uint32_t{row.width}; i++) {
    uint16_t& n = counts_[row.offset + i];
    if (n) more_[pair_key(function, i)] += n;
    n = 0;
  }
}

void Histograms::settle() {
  for (Full& full : full_) count_batch(full);
  for (FunctionId f; f < functions_; ++f) {
    for (uint32_t i = 0; i < filled_[f]; i++) add(f, waiting_[f].ticks[i]);
    filled_[f] = 0;
  }
}

void Histograms::add_square(FunctionId function, Square square) {
  uint64_t& low = rows_[function].squares;
  uint64_t& high = rest_[function].squares_high;
  const Square sum = saturating_add(Square{high} << 64 | low, square);
  low = static_cast<uint64_t>(sum);
  high = static_cast<uint64_t>(sum >> 64);
}

void Histograms::add_count(FunctionId function, uint32_t bucket, uint64_t n) {
  Row& row = rows_[function];
  if (bucket - row.begin >= row.width) widen(row, bucket);
  if (n > UINT16_MAX - row.counted) spill(function);
  if (n > UINT16_MAX) return static_cast<void>(more_[pair_key(function, bucket)] += n);
  counts_[row.offset + bucket] += static_cast<uint16_t>(n);
  row.counted += static_cast<uint32_t>(n);
}

// Widens the window, in whole powers of two, to contain `bucket` and some space beyond it. That
// space is proportional, so that abandoned windows take no more memory than those in use.
void Histograms::widen(Row& row, uint32_t bucket) {
  const uint32_t margin = std::max(kSubBuckets, row.width / 2 / kSubBuckets * kSubBuckets);
  const uint32_t power = bucket / kSubBuckets * kSubBuckets;
  uint32_t low = row.width ? std::min<uint32_t>(row.begin, power) : power;
  uint32_t high = std::max<uint32_t>(row.begin + row.width, power + kSubBuckets);
  if (power == low) low -= std::min(low, margin);
  if (power + kSubBuckets == high) high = std::min(high + margin, kBuckets);
  const auto first = static_cast<uint32_t>(counts_.size());
  if (counts_.size() + (high - low) > UINT32_MAX) throw std::bad_alloc();
  counts_.resize(counts_.size() + (high - low));
  for (uint32_t i = row.begin; i < row.begin + uint32_t{row.width}; i++)
    counts_[first + i - low] = counts_[row.offset + i];
  row.begin = static_cast<uint16_t>(low);
  row.width = static_cast<uint16_t>(high - low);
  row.offset = first - low;
}

uint64_t Histograms::count(FunctionId function, uint32_t bucket) const {
  auto more = more_.find(pair_key(function, bucket));
  return counts_[rows_[function].offset + bucket] + (more == more_.end() ? 0 : more->second);
}

CallTimes Histograms::stats(FunctionId function) const {
  CallTimes out;
  if (function >= functions_) return out;
  const Row& row = rows_[function];
  const Rest& rest = rest_[function];
  out = {rest.min, std::max<uint64_t>(row.max, rest.max), row.sum, 0};
  if (row.min != kNoMin) out.min = std::min<uint64_t>(out.min, row.min);
  for (const HistogramBucket& b : of(function).buckets) out.complete += b.count;
  return out;
}

Distribution Histograms::of(FunctionId function) const {
  Distribution out;
  if (function >= functions_) return out;
  const Row& row = rows_[function];
  out.squares = Square{rest_[function].squares_high} << 64 | row.squares;
  for (uint32_t i = row.begin; i < row.begin + uint32_t{row.width}; i++)
    if (uint64_t n = count(function, i)) out.buckets.push_back({i, n});
  return out;
}

void Histograms::add(const Histograms& other) {
  if (other.functions_ > functions_) resize_tables(other.functions_);
  for (FunctionId f; f < other.functions_; ++f) {
    const CallTimes stats = other.stats(f);
    if (stats.complete == 0) continue;
    const Distribution times = other.of(f);
    rest_[f].min = std::min(rest_[f].min, stats.min);
    rest_[f].max = std::max(rest_[f].max, stats.max);
    rows_[f].sum += stats.sum;
    add_square(f, times.squares);
    for (const HistogramBucket& b : times.buckets) add_count(f, b.bucket, b.count);
  }
}

}  // namespace luatrace::analyze
