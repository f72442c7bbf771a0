// SPDX-License-Identifier: MIT
// Converts a call tree to the bytes in the page: sums per function, pruning of nodes that are too
// small, and encoding.
//
// Invariant: no time is lost. The self times of the packed nodes, including [pruned] ones, sum to
// those of the input. No step is recursive, so a tree may have any depth.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/output/page/flame_page.h"

namespace luatrace::analyze::page {

struct FunctionTotals {
  uint64_t calls = 0;
  uint64_t inclusive_ns = 0;  // recursion counts once: only outermost calls
  uint64_t self_ns = 0;
  uint64_t before_calls = 0, before_inclusive_ns = 0, before_self_ns = 0;
};

struct PackedTree {
  // Nodes in preorder, four unsigned LEB128 numbers each: levels up from one below the previous
  // node, function, calls, self time in ns; with FlameInput::before two more, calls and self time
  // before. Function functions.size() is [pruned], functions.size() + 1 is the root.
  std::vector<uint8_t> bytes;
  uint64_t nodes = 0;                     // in `bytes`, including [pruned] ones
  uint64_t total_ns = 0;                  // sum of all self times
  uint64_t before_ns = 0;                 // the same before
  uint64_t pruned_nodes = 0;              // nodes of the input that are not in `bytes`
  uint64_t pruned_ns = 0;                 // their self times, which the [pruned] nodes have
  std::vector<FunctionTotals> functions;  // of the whole tree, before pruning
};

// Throws std::invalid_argument if a node's function is out of range.
PackedTree pack_tree(const FlameInput& input);

}  // namespace luatrace::analyze::page
