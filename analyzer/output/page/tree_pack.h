// SPDX-License-Identifier: MIT
// A call tree to the bytes that the page carries: totals per function, the choice of nodes that
// are too small to keep, and the encoding.
//
// Invariant: no time is lost. The self times of the packed nodes, the [pruned] ones included, add
// up to the self times of the input. No step recurses: a tree may be as deep as it likes.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/output/page/flame_page.h"

namespace luatrace::analyze::page {

struct FunctionTotals {
  uint64_t calls = 0;
  uint64_t inclusive_ns = 0;  // recursion counted once: only the outermost of nested calls
  uint64_t self_ns = 0;
  uint64_t before_calls = 0, before_inclusive_ns = 0, before_self_ns = 0;
};

struct PackedTree {
  // Nodes in preorder, four unsigned LEB128 numbers each: levels up from one below the previous
  // node, function, calls, self time in ns; with FlameInput::diff two more, calls and self time
  // before. Function functions.size() is [pruned], one more is the root.
  std::vector<uint8_t> bytes;
  uint64_t nodes = 0;                     // in bytes, [pruned] ones included
  uint64_t total_ns = 0;                  // sum of all self times
  uint64_t before_ns = 0;                 // the same before
  uint64_t pruned_nodes = 0;              // nodes of the input that are not in bytes
  uint64_t pruned_ns = 0;                 // their self times, which the [pruned] nodes carry
  uint64_t unequal = 0;                   // nodes whose inclusive_ns is not self + children
  std::vector<FunctionTotals> functions;  // of the whole tree, before anything is left out
};

// Throws std::invalid_argument if a node's parent or function is out of range.
PackedTree pack_tree(const FlameInput& input, const FlamePageOptions& options);

}  // namespace luatrace::analyze::page
