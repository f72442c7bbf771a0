// SPDX-License-Identifier: MIT
// The Sink of --bucket: the sums of HistogramProfile, and for each time bucket what fell into it
// (sample_buckets.h has that of samples).
//
// A stack machine stops at the border of a bucket (machine/machine.h). Time is in the bucket in
// which it passed, also that of calls which began before and of suspended coroutines. A call is
// counted where it begins, its duration where it ends, and time without the processor where the
// recorder learned of it.
//
// Invariants: the sums over all buckets are those of the profile, tick by tick, and the profile is
// the same as without buckets. Memory grows with the call paths and functions that have something
// in a bucket, not with the calls. A clock that jumps far cannot make more than kMaxTimeBuckets,
// with no more than kMaxBucketEntries, nor take more than kMaxSteps.
#pragma once

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/collect/bucket_ticks.h"
#include "analyzer/collect/profile.h"
#include "base/random_hash.h"

namespace luatrace::analyze {

class BucketedProfile : public HistogramProfile {
 public:
  // `name`: of the file, for messages.
  BucketedProfile(uint64_t width_ns, std::string name) : name_(std::move(name)) {
    clock_.width_ns = width_ns;
  }

  // After finish(), once.
  FileBuckets take_buckets() { return {clock_, std::move(buckets_)}; }

  // As a Sink. cross() and begins() throw UsageError if there are too many buckets.
  void set_clock(const Clock& clock) {
    HistogramProfile::set_clock(clock);
    clock_.clock = clock;
  }
  void stream(StreamId number);
  void begins(uint64_t tick);
  uint64_t border() const { return border_; }
  void cross(size_t coroutines);
  void call(uint32_t node) { at(node).calls++; }
  [[gnu::always_inline]] void add_self_time(uint32_t node, uint64_t ticks) {
    at(node).self += ticks;
  }
  void suspended(uint32_t node, uint64_t ticks) { at(node).suspended += ticks; }
  void off_cpu(uint32_t node, uint64_t ticks) { at(node).part += ticks; }
  void gap(uint64_t from, uint64_t to) { gap_ += to - from; }
  void ended(uint32_t node, FunctionId function, uint64_t running) {
    HistogramProfile::ended(node, function, running);
    count(function, running);
  }
  void ended_inside(uint32_t node, FunctionId function, uint64_t calls, uint64_t running) {
    HistogramProfile::ended_inside(node, function, calls, running);
    of(function).stats += CallStats({}, {calls, running});
  }
  void repeated(uint32_t node, FunctionId function, uint64_t calls, uint64_t running) {
    at(node).calls += calls;
    ended_inside(node, function, calls, running);
  }
  void finish();
  void add(const BucketedProfile& other);

 private:
  static constexpr uint64_t kMaxSteps = 1u << 26;
  // A histogram counts as several.
  static uint64_t entries(const BucketTicks& b) { return b.nodes.size() + 4 * b.calls.size(); }
  // What is in the current bucket since it is the current one, by node and by function.
  struct Node : BucketNodeTicks {
    bool listed = false;
  };
  struct Calls {
    CallStats stats;
    Square squares = 0;
    uint32_t first = 0;  // Bucket of the histogram that counts[0] is.
    std::vector<uint64_t> counts;
    bool listed = false;
  };
  struct Stream {
    uint64_t bucket = 0, border = UINT64_MAX;
    bool begun = false;
  };
  [[gnu::always_inline]] Node& at(uint32_t node) {
    if (node >= nodes_.size() || !nodes_[node].listed) [[unlikely]]
      list(node);
    return nodes_[node];
  }
  void list(uint32_t node);
  Calls& of(FunctionId function);
  void count(FunctionId function, uint64_t running);
  void load(uint64_t bucket);
  void leave();
  void leave_nodes();
  void leave_calls();

  const std::string name_;
  BucketClock clock_;
  BucketMap buckets_;
  std::unordered_map<StreamId, Stream, RandomHash> streams_;
  Stream* stream_ = nullptr;
  BucketTicks* current_ = nullptr;
  uint64_t loaded_ = 0;  // Its number.
  uint64_t border_ = UINT64_MAX, gap_ = 0, steps_ = 0, entries_ = 0;
  std::vector<Node> nodes_;
  std::vector<uint32_t> listed_;
  std::vector<Calls> calls_;
  std::vector<FunctionId> listed_calls_;
};

}  // namespace luatrace::analyze
