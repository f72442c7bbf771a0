// SPDX-License-Identifier: MIT
// For formats that write the whole stack of each node of the call tree: what they write is as long
// as the tree is large times as it is deep. So a tree that is too deep for its size is cut off.
//
// Invariant: what a format writes of a tree that was cut is in proportion to the number of its
// nodes, and a constant; calls and times stay what they were in sum.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/report/report.h"

namespace luatrace::analyze {

// How many bytes may be written: so many in any case, and so many for each node.
constexpr uint64_t kStackBytesFree = 32 << 20, kStackBytesPerNode = 4096;

// How deep the stacks of `report` may be; none: as they are. size: what one call of each function
// takes in a stack, in bytes.
std::optional<uint32_t> stack_limit(const Report& report, const std::vector<uint64_t>& size);
// Calls below that depth (1: of the outermost) become one function, [calls deeper than N], called
// by those that are as deep.
void cut_stacks(Report& report, uint32_t depth);

}  // namespace luatrace::analyze
