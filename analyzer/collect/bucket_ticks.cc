// SPDX-License-Identifier: MIT
#include "analyzer/collect/bucket_ticks.h"

#include "base/escape.h"
#include "cli/usage_error.h"

namespace luatrace::analyze {

uint64_t BucketClock::begin(uint64_t bucket) const {
  const auto ns = static_cast<unsigned __int128>(bucket) * width_ns;
  return ns > UINT64_MAX ? UINT64_MAX : clock.tick_at(static_cast<uint64_t>(ns));
}

uint64_t BucketClock::bucket_of(uint64_t tick) const {
  uint64_t bucket = clock.real_ns(tick) / width_ns;
  while (bucket && begin(bucket) > tick) bucket--;  // It was rounded.
  while (begin(bucket + 1) <= tick && begin(bucket + 1) != UINT64_MAX) bucket++;
  return bucket;
}

BucketNodeTicks& BucketNodeTicks::operator+=(const BucketNodeTicks& other) {
  calls += other.calls;
  self += other.self;
  suspended += other.suspended;
  part += other.part;
  return *this;
}

BucketCalls& BucketCalls::operator+=(const BucketCalls& other) {
  stats += other.stats;
  times.add(other.times);
  return *this;
}

void BucketTicks::unite() {
  analyze::unite(nodes, &BucketNodeTicks::node);
  analyze::unite(calls, &BucketCalls::function);
}

void refuse_buckets(const std::string& file) {
  throw UsageError("--bucket: " + printable(file) + " has more than " +
                   std::to_string(kMaxTimeBuckets) +
                   " buckets, or too many calls are open in each: give a greater length, or leave "
                   "--bucket out (if the trace is short, its clock is damaged)");
}

}  // namespace luatrace::analyze
