// SPDX-License-Identifier: MIT
#include "analyzer/collect/waits.h"

namespace luatrace::analyze {

void WaitSums::add(uint64_t more_ticks, const Clock& clock) {
  const uint64_t ns = clock.ns(more_ticks);
  count++;
  ticks += more_ticks;
  min_ns = std::min(min_ns, ns);
  max_ns = std::max(max_ns, ns);
  buckets[bucket_of(ns)]++;
}

WaitSums& WaitSums::operator+=(const WaitSums& other) {
  count += other.count;
  ticks += other.ticks;
  min_ns = std::min(min_ns, other.min_ns);
  max_ns = std::max(max_ns, other.max_ns);
  for (const auto& [bucket, n] : other.buckets) buckets[bucket] += n;
  unfinished += other.unfinished;
  return *this;
}

Distribution WaitSums::times() const {
  Distribution out;
  for (const auto& [bucket, n] : buckets) out.buckets.push_back({bucket, n});
  return out;
}

}  // namespace luatrace::analyze
