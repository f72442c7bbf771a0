// SPDX-License-Identifier: MIT
// Divides what a file adds to a report among time buckets.
//
// The report rounds sums of ticks to nanoseconds. A bucket gets what the sum grew by, rounded,
// since the bucket before: so the buckets sum to what the report has.
#pragma once

#include <vector>

#include "analyzer/report/report.h"

namespace luatrace::analyze {

// What is known once the file's profile is in the report.
struct MergedFile {
  const Profile& profile;               // With functions of the report unified.
  const Clock& clock;                   // Of its times: those of samples are in ns.
  const std::vector<NodeId>& unified;   // By node of the file: of that profile; empty: the same.
  const std::vector<FunctionId>& same;  // By function of the file: of that profile.
  const std::vector<ReportFunctionId>& map;
  const std::vector<NodeId>& place;      // By node of that profile: of the report.
  const std::vector<uint64_t>& self_ns;  // By node of that profile: what it added there.
  double cost_ps;                        // Of an event.
};

// Throws UsageError if too much is open in too many buckets.
void add_time_buckets(Report& report, const FileResult& file, const MergedFile& merged);

}  // namespace luatrace::analyze
