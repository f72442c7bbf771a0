// SPDX-License-Identifier: MIT
#include "analyzer/aggregate/histogram.h"

#include <algorithm>
#include <cmath>
#include <new>

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
  for (uint64_t limit : {UINT64_MAX / clock.mult, uint64_t{UINT32_MAX}})
    ticks = std::min<unsigned __int128>(ticks, limit);
  short_ticks_ = static_cast<uint64_t>(ticks);
}

// Whatever call it is.
void Histograms::add_one(EndedCall call) {
  if (call.function >= rows_.size()) make_room(2 * call.function + 64);
  Row& row = rows_[call.function];
  Rest& rest = rest_[call.function];
  rest.min = std::min(rest.min, call.ticks);
  rest.max = std::max(rest.max, call.ticks);
  row.sum += call.ticks;
  const uint64_t ns = clock_.ns(call.ticks);
  add_square(call.function, Square{ns} * ns);
  add_count(call.function, bucket_of(ns), 1);
}

// The same without what hardly ever happens. Everything that does not change is in registers.
void Histograms::add(const EndedCall* calls, size_t n) {
  const uint64_t mult = clock_.mult, short_ticks = short_ticks_;
  const uint32_t shift = clock_.shift;
  for (const EndedCall* const end = calls + n; calls != end; ++calls) {
    Row* const rows = rows_.data();
    uint8_t* const counts = counts_.data();
    const size_t size = rows_.size();
    for (; calls != end; ++calls) {
      const uint64_t ticks = calls->ticks;
      if (calls->function >= size || ticks >= short_ticks) [[unlikely]]
        break;
      Row& row = rows[calls->function];
      const uint64_t ns = ticks * mult >> shift;
      const uint32_t bucket = bucket_of(ns);
      if (bucket - row.begin >= row.width) [[unlikely]]
        break;
      const auto few = static_cast<uint32_t>(ticks);
      if (few < row.min) row.min = few;
      if (few > row.max) row.max = few;
      row.sum += ticks;
      if (__builtin_add_overflow(row.squares, ns * ns, &row.squares)) [[unlikely]]
        rest_[calls->function].squares_high++;
      if (++counts[row.offset + bucket] == 0) [[unlikely]]
        more_[key(calls->function, bucket)] += 256;
    }
    if (calls == end) return;
    add_one(*calls);
  }
}

void Histograms::add_square(uint32_t function, Square square) {
  uint64_t& low = rows_[function].squares;
  uint64_t& high = rest_[function].squares_high;
  const Square sum = saturating_add(Square{high} << 64 | low, square);
  low = static_cast<uint64_t>(sum);
  high = static_cast<uint64_t>(sum >> 64);
}

void Histograms::add_count(uint32_t function, uint32_t bucket, uint64_t n) {
  Row& row = rows_[function];
  if (bucket - row.begin >= row.width) widen(row, bucket);
  const uint64_t sum = counts_[row.offset + bucket] + n;
  counts_[row.offset + bucket] = static_cast<uint8_t>(sum);
  if (sum > UINT8_MAX) more_[key(function, bucket)] += sum & ~uint64_t{UINT8_MAX};
}

// A window of whole powers of two that has `bucket`, too, and some room on both sides: in
// proportion, so that what is left behind is not more than what is used.
void Histograms::widen(Row& row, uint32_t bucket) {
  const uint32_t room = std::max(kSubBuckets, row.width / 2 / kSubBuckets * kSubBuckets);
  const uint32_t power = bucket / kSubBuckets * kSubBuckets;
  uint32_t low = row.width ? std::min<uint32_t>(row.begin, power) : power;
  uint32_t high = std::max<uint32_t>(row.begin + row.width, power + kSubBuckets);
  if (power == low) low -= std::min(low, room);
  if (power + kSubBuckets == high) high = std::min(high + room, kBuckets);
  const auto first = static_cast<uint32_t>(counts_.size());
  if (counts_.size() + (high - low) > UINT32_MAX) throw std::bad_alloc();
  counts_.resize(counts_.size() + (high - low));
  for (uint32_t i = row.begin; i < row.begin + uint32_t{row.width}; i++)
    counts_[first + i - low] = counts_[row.offset + i];
  row.begin = static_cast<uint16_t>(low);
  row.width = static_cast<uint16_t>(high - low);
  row.offset = first - low;
}

uint64_t Histograms::count(uint32_t function, uint32_t bucket) const {
  auto more = more_.find(key(function, bucket));
  return counts_[rows_[function].offset + bucket] + (more == more_.end() ? 0 : more->second);
}

CallStats Histograms::stats(uint32_t function) const {
  CallStats out;
  if (function >= rows_.size()) return out;
  const Row& row = rows_[function];
  const Rest& rest = rest_[function];
  out = {rest.min, std::max<uint64_t>(row.max, rest.max), row.sum, 0};
  if (row.min != UINT32_MAX) out.min = std::min<uint64_t>(out.min, row.min);
  for (const HistogramBucket& b : of(function).buckets) out.complete += b.count;
  return out;
}

Distribution Histograms::of(uint32_t function) const {
  Distribution out;
  if (function >= rows_.size()) return out;
  const Row& row = rows_[function];
  out.squares = Square{rest_[function].squares_high} << 64 | row.squares;
  for (uint32_t i = row.begin; i < row.begin + uint32_t{row.width}; i++)
    if (uint64_t n = count(function, i)) out.buckets.push_back({i, n});
  return out;
}

void Histograms::add(const Histograms& other) {
  if (other.rows_.size() > rows_.size()) make_room(static_cast<uint32_t>(other.rows_.size()));
  for (uint32_t f = 0; f < other.rows_.size(); f++) {
    const CallStats stats = other.stats(f);
    if (stats.complete == 0) continue;
    const Distribution times = other.of(f);
    rest_[f].min = std::min(rest_[f].min, stats.min);
    rest_[f].max = std::max(rest_[f].max, stats.max);
    rows_[f].sum += stats.sum;
    add_square(f, times.squares);
    for (const HistogramBucket& b : times.buckets) add_count(f, b.bucket, b.count);
  }
}

}  // namespace luatrace
