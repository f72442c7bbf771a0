// SPDX-License-Identifier: MIT
// Inclusive times of a profile's call tree and, from them, of its functions.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/report/report.h"

namespace luatrace::analyze {

// In ticks, by function index.
struct FunctionTicks {
  uint64_t calls = 0;
  uint64_t self = 0;
  uint64_t inclusive = 0;  // At least one call of it was open on the running call stack.
  uint64_t wall = 0;       // Of calls outermost in their coroutine, with suspended time.
};

// By function. The self time of coroutine nodes counts for the function that resumed them.
std::vector<FunctionTicks> function_ticks(const Profile& profile, size_t functions);

// By function: the sum of `inclusive` (by node) over those of its nodes with no other node of the
// same function above them. The root does not count.
std::vector<uint64_t> outermost_sums(const CallTree& tree, size_t functions,
                                     const std::vector<uint64_t>& inclusive);

// By function: the sum of `part` over its nodes; for groups also over those of the functions in
// them (sum_up_groups()).
std::vector<uint64_t> self_sums(const Report& report, const NodeTimes& part);

}  // namespace luatrace::analyze
