// SPDX-License-Identifier: MIT
// --compensate: times without the cost of recording. An event's cost was measured when recording
// began; of a call's two events half of each lies in its own time, half in its caller's. What was
// recorded stays as it is: corrected times stand beside it.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/report/report.h"

namespace luatrace::analyze {

constexpr double kMuchCorrected = 0.3;  // Share above which a corrected time is a rough guess.

struct Corrected {
  uint64_t self_ns = 0;
  uint64_t total_ns = 0;
  bool rough = false;
};

struct Compensation {
  std::vector<Corrected> functions;  // By function of the report.
  std::vector<Corrected> nodes;      // By node of its tree.
};

Compensation compensate(const Report& report);

}  // namespace luatrace::analyze
