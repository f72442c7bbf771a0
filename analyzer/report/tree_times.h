// SPDX-License-Identifier: MIT
// Inclusive times of a profile's call tree and, from them, of its functions.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/collect/profile.h"

namespace luatrace::analyze {

// In ticks, by function index.
struct FunctionTicks {
  uint64_t calls = 0;
  uint64_t self = 0;
  uint64_t running = 0;  // At least one call of it was open on the running chain of stacks.
  uint64_t wall = 0;     // Of outermost calls in their coroutine, suspended time included.
};

// Self time of nodes that stand for coroutines goes to the function that resumed them.
std::vector<FunctionTicks> function_ticks(const Profile& profile, size_t functions);

// By function: the sum of `inclusive` (by node) over those of its nodes that have no other node of
// it above them.
std::vector<uint64_t> outermost_sums(const CallTree& tree, size_t functions,
                                     const std::vector<uint64_t>& inclusive);

}  // namespace luatrace::analyze
