// SPDX-License-Identifier: MIT
// --bucket for samples: what of a sampled trace fell into each time bucket. A sample is in the
// bucket in which it was taken, with all its weight.
//
// Invariants: the sums over all buckets are those of the profile. Each sample costs the same, and
// memory grows with what is different in each bucket: there are no more than kMaxTimeBuckets, with
// no more than kMaxBucketEntries nodes.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "analyzer/collect/bucket_ticks.h"
#include "analyzer/collect/placement.h"

namespace luatrace::analyze {

class SampleBuckets {
 public:
  // `name`: of the file, for messages.
  SampleBuckets(uint64_t width_ns, std::string name, uint64_t max_entries = kMaxBucketEntries)
      : name_(std::move(name)), max_entries_(max_entries) {
    out_.clock.width_ns = width_ns;
  }

  void set_clock(const Clock& clock) { out_.clock.clock = clock; }
  // All that follows is of a sample of this time. `sums`, `filtered_ns`: of all those before it.
  // Throws UsageError if there are too many buckets.
  void at(uint64_t tick, const SampleSums& sums, uint64_t filtered_ns) {
    if (tick < begin_ || tick >= end_) cross(tick, sums, filtered_ns);
  }
  // The sample, by its node of the raw tree. Throws UsageError if there are too many nodes.
  void add(uint32_t node, uint64_t ns, uint64_t compiled_ns);
  // After the last sample: moves all from the raw tree to the shown one.
  void finish(const Placement& placement, const SampleSums& sums, uint64_t filtered_ns);
  FileBuckets& result() { return out_; }

 private:
  void cross(uint64_t tick, const SampleSums& sums, uint64_t filtered_ns);
  void leave(const SampleSums& sums, uint64_t filtered_ns);
  void place(BucketTicks& bucket, const Placement& placement);

  const std::string name_;
  const uint64_t max_entries_;
  FileBuckets out_;
  BucketTicks* current_ = nullptr;
  uint64_t begin_ = 1, end_ = 0;  // Its first tick, and that of the next one.
  SampleSums sums_;               // Those of all that are not in the current bucket.
  uint64_t filtered_ns_ = 0, entries_ = 0;
};

}  // namespace luatrace::analyze
