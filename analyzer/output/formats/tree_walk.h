// SPDX-License-Identifier: MIT
// Walks the call tree depth first, parents before children, children in the order in which they
// were first called. Not recursive: a tree may be as deep as the stacks of the traced program.
#pragma once

#include <vector>

#include "analyzer/collect/call_tree.h"

namespace luatrace::analyze {

// Calls enter(node) and, after its subtree, leave(node), for every node but the root.
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
