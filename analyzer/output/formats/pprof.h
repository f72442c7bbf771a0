// SPDX-License-Identifier: MIT
// Profiles for profiling servers, and what their samples consist of. --format pprof writes calls,
// self and CPU times only: adding a sample type would change what its readers show first.
#pragma once

#include <iosfwd>
#include <vector>

#include "analyzer/report/report.h"

namespace luatrace::analyze {

// One of the numbers of a sample.
struct SampleValue {
  // kInclusive: of the calls of this call path; it is also in the samples of its callers, so only
  // sums over functions without recursion make sense.
  enum Kind { kCalls, kSelf, kInclusive, kSuspended, kCpu } kind;
  const char *type, *unit;
};
// all: also inclusive and suspended time; otherwise calls and self time. The CPU time of the calls
// themselves comes last, if it is known. Of samples: their number and time only.
std::vector<SampleValue> sample_values(const Report& report, bool all);

// The values of the nodes of a report's call tree: numbers of calls, or ns.
class NodeValues {
 public:
  // all: as in sample_values().
  NodeValues(const Report& report, bool all);
  uint64_t of(NodeId node, SampleValue::Kind kind) const;

 private:
  const Report& report_;
  const std::vector<uint64_t> inclusive_;
};

// The gzipped profile with all values, and with labels for all groups.
void write_whole_pprof(std::ostream& out, const Report& report);
// An ExportProfilesServiceRequest of OTLP, not compressed: one profile for each value. `resource`:
// attributes of the resource.
void write_otlp(std::ostream& out, const Report& report,
                const std::vector<std::pair<std::string, std::string>>& resource);

}  // namespace luatrace::analyze
