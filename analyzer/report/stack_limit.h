// SPDX-License-Identifier: MIT
// For formats that write the whole stack of each node of the call tree: their output grows with the
// size of the tree times its depth, so a tree too deep for its size is cut off.
//
// Invariant: the output for a cut tree is linear in the number of its nodes plus a constant; the
// sums of calls and times do not change.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/report/report.h"

namespace luatrace::analyze {

// Limit of the output in bytes: a constant plus a number per node.
constexpr uint64_t kStackBytesFree = 32 << 20, kStackBytesPerNode = 4096;

// The maximum depth of the stacks of `report`; empty if they need no cut. `size`: by function, the
// bytes that one call of it takes in a stack.
std::optional<uint32_t> stack_limit(const Report& report, const std::vector<uint64_t>& size);
// Merges calls below `depth` (1: the outermost calls) into one function, [calls deeper than N],
// called by those at that depth.
void cut_stacks(Report& report, uint32_t depth);

}  // namespace luatrace::analyze
