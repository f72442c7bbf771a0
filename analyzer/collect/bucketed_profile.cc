// SPDX-License-Identifier: MIT
#include "analyzer/collect/bucketed_profile.h"

#include <algorithm>
#include <utility>

namespace luatrace::analyze {
void BucketedProfile::stream(StreamId number) {
  if (stream_) stream_->border = border_;
  stream_ = &streams_[number];
  border_ = stream_->border;
  if (stream_->begun) load(stream_->bucket);
}

void BucketedProfile::begins(uint64_t tick) {
  if (!stream_) stream(kNoStream);
  stream_->begun = true;
  stream_->bucket = clock_.bucket_of(tick);
  border_ = clock_.begin(stream_->bucket + 1);
  load(stream_->bucket);
}

void BucketedProfile::cross(size_t coroutines) {
  steps_ += 64 + coroutines;
  if (steps_ > kMaxSteps) refuse_buckets(name_);
  stream_->bucket = clock_.bucket_of(border_);
  border_ = clock_.begin(stream_->bucket + 1);
  load(stream_->bucket);
}

void BucketedProfile::load(uint64_t bucket) {
  if (current_ && loaded_ == bucket) return;
  leave();
  current_ = &buckets_[bucket];
  loaded_ = bucket;
  if (buckets_.size() > kMaxTimeBuckets) refuse_buckets(name_);
}

void BucketedProfile::list(uint32_t node) {
  if (node >= nodes_.size()) nodes_.resize(std::max<size_t>(tree().size(), 2 * nodes_.size()));
  nodes_[node].listed = true;
  listed_.push_back(node);
}

BucketedProfile::Calls& BucketedProfile::of(FunctionId function) {
  Calls& c = grown(calls_, function);
  if (!std::exchange(c.listed, true)) listed_calls_.push_back(function);
  return c;
}

void BucketedProfile::count(FunctionId function, uint64_t running) {
  Calls& c = of(function);
  c.stats += CallStats({running, running, running, 1}, {});
  const uint64_t ns = clock_.clock.ns(running);
  c.squares = saturating_add(c.squares, Square{ns} * ns);
  const uint32_t bucket = bucket_of(ns);
  if (c.counts.empty()) c.first = bucket;
  if (bucket < c.first) {
    c.counts.insert(c.counts.begin(), c.first - bucket, 0);
    c.first = bucket;
  }
  if (bucket - c.first >= c.counts.size()) c.counts.resize(bucket - c.first + 1);
  c.counts[bucket - c.first]++;
}

void BucketedProfile::leave_nodes() {
  for (const uint32_t number : std::exchange(listed_, {})) {
    Node& n = nodes_[number];
    tree()[NodeId(number)].calls += n.calls;
    tree()[NodeId(number)].self += n.self;
    if (n.suspended) Profile::suspended(number, n.suspended);
    if (n.part) Profile::off_cpu(number, n.part);
    n.node = NodeId(number);
    const bool any = n.calls || n.self || n.suspended || n.part;
    if (current_ && any) append<BucketNodeTicks>(current_->nodes, n, &BucketNodeTicks::node);
    n = {};
  }
}

void BucketedProfile::leave_calls() {
  for (const FunctionId function : std::exchange(listed_calls_, {})) {
    Calls& c = calls_[function];
    BucketCalls calls{function, c.stats, {{}, c.squares}};
    for (uint32_t i = 0; i < c.counts.size(); i++)
      if (c.counts[i]) calls.times.buckets.push_back({c.first + i, c.counts[i]});
    if (current_) append(current_->calls, std::move(calls), &BucketCalls::function);
    c = {};
  }
}

// What was collected becomes part of the current bucket and of the sums.
void BucketedProfile::leave() {
  if (current_) entries_ -= entries(*current_);
  leave_nodes();
  leave_calls();
  if (!current_) return;
  current_->gap += std::exchange(gap_, 0);
  entries_ += entries(*current_);
  if (entries_ > kMaxBucketEntries) refuse_buckets(name_);
}

void BucketedProfile::finish() {
  leave();
  for (auto& [number, bucket] : buckets_) bucket.unite();
  std::erase_if(buckets_, [](const auto& entry) { return entry.second.empty(); });
  HistogramProfile::finish();
}

void BucketedProfile::add(const BucketedProfile& other) {
  const std::vector<NodeId> place = HistogramProfile::add(other);
  for (const auto& [number, from] : other.buckets_) {
    BucketTicks& to = buckets_[number];
    to.gap += from.gap;
    for (BucketNodeTicks node : from.nodes) {
      node.node = place[node.node];
      to.nodes.push_back(node);
    }
    to.calls.insert(to.calls.end(), from.calls.begin(), from.calls.end());
    to.unite();
  }
  if (buckets_.size() > kMaxTimeBuckets) refuse_buckets(name_);
}

}  // namespace luatrace::analyze
