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

// A window of lines that has `power`, too, and some room on both sides.
void Histograms::widen(Row& row, uint32_t power) {
  constexpr uint32_t kRoom = 1, kMost = kBuckets / kSubBuckets;
  uint32_t low = row.powers ? std::min<uint32_t>(row.low, power) : power;
  uint32_t high = std::max<uint32_t>(row.low + row.powers, power + 1);
  if (power == low) low -= std::min(low, kRoom);
  if (power + 1 == high) high = std::min(high + kRoom, kMost);
  const auto first = static_cast<uint32_t>(lines_.size());
  lines_.resize(lines_.size() + (high - low));
  for (uint32_t i = 0; i < row.powers; i++)
    lines_[first + row.low - low + i] = lines_[row.first + i];
  row.first = first;
  row.low = static_cast<uint16_t>(low);
  row.powers = static_cast<uint16_t>(high - low);
}

Distribution Histograms::of(uint32_t function) const {
  Distribution out;
  if (function >= rows_.size()) return out;
  const Row& row = rows_[function];
  out.squares = row.squares;
  for (uint32_t i = 0; i < row.powers * kSubBuckets; i++) {
    const uint32_t bucket = row.low * kSubBuckets + i;
    uint64_t n = lines_[row.first + i / kSubBuckets][i % kSubBuckets];
    auto over = overflows_.find(uint64_t{function} << 32 | bucket);
    if (over != overflows_.end()) n += over->second << 32;
    if (n) out.buckets.push_back({bucket, n});
  }
  return out;
}

}  // namespace luatrace
