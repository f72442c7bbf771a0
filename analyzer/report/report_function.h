// SPDX-License-Identifier: MIT
// A function of a report: its name, and its sums in nanoseconds.
#pragma once

#include <cstdint>

#include "analyzer/collect/histogram.h"
#include "analyzer/symbols/function_name.h"

namespace luatrace::analyze {

struct ReportFunction : FunctionName {
  uint64_t calls = 0;
  uint64_t complete = 0;  // Calls seen from beginning to end: min, max and sum cover only these.
  uint64_t wall_ns = 0;
  uint64_t running_ns = 0;
  uint64_t self_ns = 0;
  uint64_t min_ns = 0;
  uint64_t max_ns = 0;
  uint64_t sum_ns = 0;
  // Of groups above the call tree: calls and self times of the functions in them. The group's own
  // figures exclude them, so that all functions and groups sum to the whole.
  uint64_t inner_calls = 0;
  uint64_t inner_self_ns = 0;
  bool in_group = false;  // A group whose time and calls count for other groups: no row.
  Distribution times;     // Empty unless histograms were requested.

  uint64_t average_ns() const { return complete ? sum_ns / complete : 0; }
};

void add_figures(ReportFunction& to, const ReportFunction& from);

}  // namespace luatrace::analyze
