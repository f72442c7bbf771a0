// SPDX-License-Identifier: MIT
// A function of a report: its name, and its sums in nanoseconds.
#pragma once

#include <cstdint>

#include "analyzer/collect/histogram.h"
#include "analyzer/symbols/function_name.h"
#include "base/id.h"

namespace luatrace::analyze {

// Indices of the functions of a report: the root of the call tree, the unknown callers, and the
// first one of a program.
using ReportFunctionId = Id<struct FunctionsOfReport>;
constexpr ReportFunctionId kReportRoot{0}, kReportUnknown{1}, kReportFirst{2};

struct ReportFunction : FunctionName {
  uint64_t calls = 0;
  uint64_t complete = 0;  // Calls seen from beginning to end: min, max and sum cover only these.
  uint64_t wall_ns = 0;
  uint64_t inclusive_ns = 0;
  uint64_t self_ns = 0;
  uint64_t min_ns = 0;
  uint64_t max_ns = 0;
  uint64_t sum_ns = 0;
  // Of groups above the call tree: calls and self times of the functions in them. The group's own
  // figures exclude them, so that all functions and groups sum to the whole.
  uint64_t inner_calls = 0;
  uint64_t inner_self_ns = 0;
  // CPU time of the calls, with and without callees, if it is known (add_cpu_times()).
  static constexpr uint64_t kUnknownTime = UINT64_MAX;
  uint64_t cpu_ns = kUnknownTime, self_cpu_ns = kUnknownTime;
  bool in_group = false;  // A group whose time and calls count for other groups: no row.
  Distribution times;     // Empty unless histograms were requested.

  bool has_cpu_times() const { return cpu_ns != kUnknownTime; }
  uint64_t average_ns() const { return complete ? sum_ns / complete : 0; }
};

void add_figures(ReportFunction& to, const ReportFunction& from);

}  // namespace luatrace::analyze
