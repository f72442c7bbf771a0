// SPDX-License-Identifier: MIT
#include "analyzer/report/bucket_timeline.h"

#include <map>

namespace luatrace::analyze {
namespace {

constexpr uint64_t kMaxSlices = 2048;  // More than a terminal has columns.

}  // namespace

void add_bucket_timeline(Report& report) {
  const TimeBuckets& all = report.buckets;
  if (all.buckets.empty()) return;
  const uint64_t first = all.buckets.begin()->first, last = all.buckets.rbegin()->first;
  const uint64_t step = (last - first) / kMaxSlices + 1;  // Buckets in a slice.
  const uint64_t begin = first / step;
  const auto slices = static_cast<size_t>(last / step - begin + 1);
  ReportTimeline out;
  out.start_real_ns = begin * step * all.width_ns;
  out.traced_ns.resize(slices);
  for (uint64_t i = 0; i <= slices; i++) out.borders_ns.push_back(i * step * all.width_ns);
  std::map<ReportFunctionId, ReportLane> lanes;
  for (const auto& [number, bucket] : all.buckets) {
    const auto slice = static_cast<size_t>(number / step - begin);
    out.traced_ns[slice] += bucket.traced_ns;
    for (const BucketFunction& f : bucket.functions) {
      if (!f.self_ns) continue;
      ReportLane& lane = lanes[f.function];
      lane.function = f.function;
      lane.slices.resize(slices);
      lane.slices[slice] += f.self_ns;
    }
  }
  for (auto& [function, lane] : lanes) out.lanes.push_back(std::move(lane));
  report.timelines.push_back(std::move(out));
}

}  // namespace luatrace::analyze
