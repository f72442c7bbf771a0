// SPDX-License-Identifier: MIT
// The call tree in depth-first order, parents before children, children in the order in which they
// were first called. Without recursion: a tree may be as deep as a stack of the program.
#pragma once

#include <vector>

#include "analyzer/collect/call_tree.h"

namespace luatrace::analyze {

// Calls enter(node) and, after everything below it, leave(node), for every node but the root.
template <class Enter, class Leave>
void walk_tree(const CallTree& tree, Enter enter, Leave leave) {
  std::vector<uint32_t> child(tree.size()), sibling(tree.size());
  for (auto i = static_cast<uint32_t>(tree.size()); i-- > 1;) {
    sibling[i] = child[tree[i].parent];
    child[tree[i].parent] = i;
  }
  uint32_t node = child[0];
  while (node) {
    enter(node);
    if (child[node]) {
      node = child[node];
      continue;
    }
    leave(node);
    while (!sibling[node]) {
      node = tree[node].parent;
      if (!node) return;
      leave(node);
    }
    node = sibling[node];
  }
}

}  // namespace luatrace::analyze
