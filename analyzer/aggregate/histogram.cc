// SPDX-License-Identifier: MIT
#include "analyzer/aggregate/histogram.h"

#include <algorithm>
#include <cmath>

namespace luatrace {

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
  // ns * ns < 2^64 if ns < 2^32.
  unsigned __int128 ticks = (static_cast<unsigned __int128>(1) << (32 + clock.shift)) / clock.mult;
  short_ticks_ = static_cast<uint64_t>(
      std::min<unsigned __int128>(std::min<unsigned __int128>(ticks, UINT64_MAX / clock.mult),
                                  UINT64_MAX));
}

void Histograms::add_square(Row& row, Square square) {
  const Square old = Square{row.squares_high} << 64 | row.squares_low;
  const Square sum = saturating_add(old, square);
  row.squares_low = static_cast<uint64_t>(sum);
  row.squares_high = static_cast<uint64_t>(sum >> 64);
}

// A window of whole powers of two that has `bucket`, too, and some room on both sides.
void Histograms::widen(Row& row, uint32_t bucket) {
  constexpr uint32_t kRoom = kSubBuckets;
  const uint32_t power = bucket / kSubBuckets * kSubBuckets;
  uint32_t low = row.width ? std::min(row.begin, power) : power;
  uint32_t high = std::max(row.begin + row.width, power + kSubBuckets);
  if (power == low) low -= std::min(low, kRoom);
  if (power + kSubBuckets == high) high = std::min(high + kRoom, kBuckets);
  const auto first = static_cast<uint32_t>(counts_.size());
  if (counts_.size() + (high - low) > UINT32_MAX) throw std::bad_alloc();
  counts_.resize(counts_.size() + (high - low));
  for (uint32_t i = row.begin; i < row.begin + row.width; i++)
    counts_[first + i - low] = counts_[row.offset + i];
  row.begin = low;
  row.width = high - low;
  row.offset = first - low;
}

uint64_t Histograms::count(uint32_t function, uint32_t bucket) const {
  const uint64_t n = counts_[rows_[function].offset + bucket];
  auto over = overflows_.find(uint64_t{function} << 32 | bucket);
  return over == overflows_.end() ? n : n + (over->second << 32);
}

CallStats Histograms::stats(uint32_t function) const {
  if (function >= rows_.size()) return {};
  const Row& row = rows_[function];
  CallStats out{row.min, row.max, row.sum, 0};
  for (uint32_t i = row.begin; i < row.begin + row.width; i++) out.complete += count(function, i);
  return out;
}

Distribution Histograms::of(uint32_t function) const {
  Distribution out;
  if (function >= rows_.size()) return out;
  const Row& row = rows_[function];
  out.squares = Square{row.squares_high} << 64 | row.squares_low;
  for (uint32_t i = row.begin; i < row.begin + row.width; i++)
    if (uint64_t n = count(function, i)) out.buckets.push_back({i, n});
  return out;
}

void Histograms::add(const Histograms& other) {
  rows_.resize(std::max(rows_.size(), other.rows_.size()));
  for (uint32_t f = 0; f < other.rows_.size(); f++) {
    const Row& from = other.rows_[f];
    Row& to = rows_[f];
    to.min = std::min(to.min, from.min);
    to.max = std::max(to.max, from.max);
    to.sum += from.sum;
    add_square(to, Square{from.squares_high} << 64 | from.squares_low);
    for (uint32_t i = from.begin; i < from.begin + from.width; i++) {
      const uint64_t n = other.count(f, i);
      if (n == 0) continue;
      if (i - to.begin >= to.width) widen(to, i);
      const uint64_t sum = counts_[to.offset + i] + n;
      counts_[to.offset + i] = static_cast<uint32_t>(sum);
      if (sum >> 32) overflows_[uint64_t{f} << 32 | i] += sum >> 32;
    }
  }
}

}  // namespace luatrace
