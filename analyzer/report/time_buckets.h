// SPDX-License-Identifier: MIT
// What of a report fell into each time bucket: sums, functions and nodes that have something there.
// Buckets are equally long and begin at multiples of their length since 1970 (UTC), so that those
// of several files are added up bucket by bucket.
//
// Invariants: whatever is a sum in the report is, to the nanosecond, the sum over its buckets (but
// the duration, if nothing was recorded in between); lists are sorted, and have no function and no
// node twice. So adding up and making greater buckets give the same in any order and grouping.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analyzer/collect/profile.h"
#include "analyzer/collect/sample_sums.h"
#include "analyzer/filter/filter.h"
#include "analyzer/report/report_function.h"

namespace luatrace::analyze {

struct Report;

struct BucketFunction : FunctionFigures {
  ReportFunctionId function;

  BucketFunction& operator+=(const BucketFunction& other);
};
struct BucketNode {
  NodeId node;
  uint64_t calls = 0, self_ns = 0, cost_ps = 0, suspended_ns = 0;
  // Of self_ns: of events, without the processor (may exceed it, if the recorder learned of it
  // late); of samples, in compiled code.
  uint64_t part_ns = 0;

  BucketNode& operator+=(const BucketNode& other);
};
struct TimeBucket {
  uint64_t duration_ns = 0, traced_ns = 0, self_ns = 0, idle_ns = 0, gap_ns = 0;
  // Of samples only: of events, no bucket has filters.
  uint64_t filtered_ns = 0;
  SampleSums samples;
  std::vector<BucketFunction> functions;
  std::vector<BucketNode> nodes;

  void add(const TimeBucket& other);
  // Sorts both lists, and adds up what is in them twice.
  void unite();
};
struct TimeBuckets {
  uint64_t width_ns = 0;                   // 0: there are none.
  std::map<uint64_t, TimeBucket> buckets;  // By beginning / width, since 1970.

  // Makes them longer; `width` is a multiple of their own.
  void widen(uint64_t width);
};

// Whether time buckets may have this length: from 1 s up, and a day is a multiple of it.
bool is_bucket_width(uint64_t ns);
// "30s", "1m", "6h".
std::string width_text(uint64_t ns);

// Which buckets are in a range; both ends as options have them.
class BucketRange {
 public:
  BucketRange(const TimePoint& from, const TimePoint& to) : from_(from), to_(to) {}
  // Throws UsageError if an end is neither a time of day nor a point in time, or is inside of a
  // bucket. `name`: of the file, for the message.
  void check(uint64_t width_ns, const std::string& name) const;
  bool has(uint64_t bucket, uint64_t width_ns) const;

 private:
  TimePoint from_, to_;
};

}  // namespace luatrace::analyze
