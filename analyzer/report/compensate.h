// SPDX-License-Identifier: MIT
// --compensate: times without the cost of recording. The cost of an event was measured when
// recording began; a call has two events, and half the cost of each lies in the call's own time,
// half in its caller's. Recorded times are kept; corrected times are shown beside them.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/report/report.h"

namespace luatrace::analyze {

constexpr double kRoughShare = 0.3;  // Of cost in a time; above it the corrected time is rough.

struct Corrected {
  uint64_t self_ns = 0;
  uint64_t inclusive_ns = 0;
  bool rough = false;
};

struct Compensation {
  std::vector<Corrected> functions;  // Indexed by function of the report.
  std::vector<Corrected> nodes;      // Indexed by node of its tree.
};

// Returns the corrected times of all functions and nodes, in ns.
Compensation compensate(const Report& report);

}  // namespace luatrace::analyze
