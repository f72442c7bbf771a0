// SPDX-License-Identifier: MIT
#include "analyzer/collect/waits.h"

namespace luatrace::analyze {

void Times::add(uint64_t ns) {
  count++;
  min_ns = std::min(min_ns, ns);
  max_ns = std::max(max_ns, ns);
  buckets[bucket_of(ns)]++;
}

Times& Times::operator+=(const Times& other) {
  count += other.count;
  min_ns = std::min(min_ns, other.min_ns);
  max_ns = std::max(max_ns, other.max_ns);
  for (const auto& [bucket, n] : other.buckets) buckets[bucket] += n;
  return *this;
}

Distribution Times::times() const {
  Distribution out;
  for (const auto& [bucket, n] : buckets) out.buckets.push_back({bucket, n});
  return out;
}

void WaitSums::add(uint64_t more_ticks, const Clock& clock) {
  Times::add(clock.ns(more_ticks));
  ticks += more_ticks;
}

WaitSums& WaitSums::operator+=(const WaitSums& other) {
  Times::operator+=(other);
  ticks += other.ticks;
  unfinished += other.unfinished;
  return *this;
}

}  // namespace luatrace::analyze
