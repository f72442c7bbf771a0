// SPDX-License-Identifier: MIT
// An order of functions and nodes that depends on what they are, not on what came first: threads
// that share the streams of a trace find them in an order of chance.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/aggregate/call_tree.h"

namespace luatrace {

// All nodes, parents before their children, children of one node in the order of their functions'
// `rank` (by function; those of equal rank in the tree's order).
std::vector<uint32_t> canonical_order(const CallTree& tree, const std::vector<uint32_t>& rank);

}  // namespace luatrace
