// SPDX-License-Identifier: MIT
// A function of a report: its name, and its figures in nanoseconds.
#pragma once

#include <cstdint>

#include "analyzer/collect/histogram.h"
#include "analyzer/symbols/function_name.h"
#include "base/id.h"
#include "base/rare.h"

namespace luatrace::analyze {

// Indices of the functions of a report: the root of the call tree, the unknown callers, and the
// first one of a program.
using ReportFunctionId = Id<struct FunctionsOfReport>;
constexpr ReportFunctionId kReportRoot{0}, kReportUnknown{1}, kReportFirst{2};

// What only functions have that were called in compiled segments.
struct SegmentFigures {
  uint64_t inside = 0, inside_ns = 0;  // Calls of which only the sum of the times is known.
  // How much of inclusive and self time was apportioned (add_apportioned_times()).
  uint64_t apportioned_ns = 0, self_apportioned_ns = 0;

  bool operator==(const SegmentFigures&) const = default;
};

// What of them is a sum, a minimum or a maximum: of all that was traced, or of a time bucket.
struct FunctionFigures {
  uint64_t calls = 0;
  // Calls seen from beginning to end whose times are known: min, max, sum and times cover only
  // these.
  uint64_t complete = 0;
  uint64_t wall_ns = 0;
  uint64_t inclusive_ns = 0;
  uint64_t self_ns = 0;
  uint64_t min_ns = 0;
  uint64_t max_ns = 0;
  uint64_t sum_ns = 0;
  Distribution times;  // Empty unless histograms were requested.
  Rare<SegmentFigures> segments;

  bool operator==(const FunctionFigures&) const = default;
  uint64_t all_complete() const { return complete + segments->inside; }
  uint64_t average_ns() const {
    return all_complete() ? (sum_ns + segments->inside_ns) / all_complete() : 0;
  }
  // Whether minimum, maximum and distribution of all calls are known.
  bool knows_times() const { return segments->inside == 0; }
};

struct ReportFunction : FunctionName, FunctionFigures {
  // Of groups above the call tree: calls and self times of the functions in them. The group's own
  // figures exclude them, so that all functions and groups sum to the whole.
  uint64_t inner_calls = 0;
  uint64_t inner_self_ns = 0;
  static constexpr uint64_t kUnknownTime = UINT64_MAX;
  // Of events: CPU time of the calls, with and without callees, if it is known (add_cpu_times()).
  // Of samples (add_sample_counts()): how many have the function on their stack, and how much of
  // its self time was in compiled code. A union, because there may be many functions.
  union {
    uint64_t cpu_ns = kUnknownTime;
    uint64_t samples;
  };
  union {
    uint64_t self_cpu_ns = kUnknownTime;
    uint64_t compiled_ns;
  };
  // Of samples: half of the range, in percentage points, in which the share of its self time lies
  // in 95 of 100 cases; below 0: unknown. `calls` counts those in which it was innermost.
  float error = -1;
  bool sampled = false;   // It has the members of samples.
  bool in_group = false;  // A group whose time and calls count for other groups: no row.

  bool has_cpu_times() const { return !sampled && cpu_ns != kUnknownTime; }
  // Whether it is code that the compiler may have compiled.
  bool has_compiled_share() const {
    return sampled && self_ns + inner_self_ns &&
           (kind == FunctionKind::kLua || kind == FunctionKind::kGroup);
  }
};

void add_figures(FunctionFigures& to, const FunctionFigures& from);

}  // namespace luatrace::analyze
