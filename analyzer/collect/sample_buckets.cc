// SPDX-License-Identifier: MIT
#include "analyzer/collect/sample_buckets.h"

namespace luatrace::analyze {

void SampleBuckets::cross(uint64_t tick, const SampleSums& sums, uint64_t filtered_ns) {
  leave(sums, filtered_ns);
  const uint64_t bucket = out_.clock.bucket_of(tick);
  begin_ = out_.clock.begin(bucket);
  end_ = out_.clock.begin(bucket + 1);
  current_ = &out_.buckets[bucket];
  if (out_.buckets.size() > kMaxTimeBuckets) refuse_buckets(name_);
}

// What the sums grew by belongs to the current bucket.
void SampleBuckets::leave(const SampleSums& sums, uint64_t filtered_ns) {
  if (!current_) return;
  current_->samples += sums;
  current_->samples -= sums_;
  current_->filtered += filtered_ns - filtered_ns_;
  sums_ = sums;
  filtered_ns_ = filtered_ns;
}

void SampleBuckets::add(uint32_t node, uint64_t ns, uint64_t compiled_ns) {
  auto& nodes = current_->nodes;
  entries_ -= nodes.size();
  append(nodes, {NodeId(node), 1, ns, 0, compiled_ns}, &BucketNodeTicks::node);
  entries_ += nodes.size();
  if (entries_ > max_entries_) refuse_buckets(name_);
}

void SampleBuckets::place(BucketTicks& bucket, const Placement& placement) {
  std::erase_if(bucket.nodes, [&](BucketNodeTicks& n) {
    const Place p = placement[n.node];
    n.node = p.out;
    if (p.takes) return false;
    bucket.filtered += n.self;
    bucket.samples.filtered += n.calls;
    return true;
  });
}

void SampleBuckets::finish(const Placement& placement, const SampleSums& sums,
                           uint64_t filtered_ns) {
  leave(sums, filtered_ns);
  for (auto& [number, bucket] : out_.buckets) {
    if (!placement.is_plain()) place(bucket, placement);
    bucket.unite();
  }
}

}  // namespace luatrace::analyze
