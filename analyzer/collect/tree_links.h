// SPDX-License-Identifier: MIT
// The children of each node of a tree, a walk over the tree and sums over its subtrees. None of
// them is recursive: a tree may be as deep as the stacks of the traced program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/collect/profile.h"

namespace luatrace::analyze {

class TreeLinks {
 public:
  // parent(node) < node for every node but the root. The children of a node are in the order of
  // their numbers.
  template <class Parent>
  TreeLinks(size_t nodes, Parent parent) : child_(nodes), sibling_(nodes) {
    for (NodeId i(static_cast<uint32_t>(nodes)); i > 1;) {
      --i;
      add_first(parent(i), i);
    }
  }
  explicit TreeLinks(const CallTree& tree)
      : TreeLinks(tree.size(), [&](NodeId node) { return tree[node].parent; }) {}
  // `order` has every node but the root; it is the order of the children.
  TreeLinks(const CallTree& tree, const std::vector<NodeId>& order)
      : child_(tree.size()), sibling_(tree.size()) {
    for (auto node = order.rbegin(); node != order.rend(); ++node)
      add_first(tree[*node].parent, *node);
  }

  // The first child and the next sibling of a node; the root if there is none.
  NodeId child(NodeId node) const { return child_[node]; }
  NodeId sibling(NodeId node) const { return sibling_[node]; }

  // Calls enter(node) and, after its subtree, leave(node), for every node but the root.
  template <class Enter, class Leave>
  void walk(Enter enter, Leave leave) const {
    std::vector<NodeId> open;
    NodeId node = child_.empty() ? kRootNode : child_[kRootNode];
    while (node) {
      enter(node);
      if (child_[node]) {
        open.push_back(node);
        node = child_[node];
        continue;
      }
      leave(node);
      while (!sibling_[node]) {
        if (open.empty()) return;
        node = open.back();
        open.pop_back();
        leave(node);
      }
      node = sibling_[node];
    }
  }

 private:
  void add_first(NodeId parent, NodeId node) {
    sibling_[node] = child_[parent];
    child_[parent] = node;
  }
  std::vector<NodeId> child_, sibling_;
};

// By node: the sum of value(node) over its subtree; value(kRootNode) does not count, as the root's
// own time is idle time.
template <class Value>
std::vector<uint64_t> subtree_sums(const CallTree& tree, Value value) {
  std::vector<uint64_t> sums(tree.size());
  for (NodeId i(static_cast<uint32_t>(tree.size())); i > 1;) {
    --i;
    sums[i] += value(i);
    sums[tree[i].parent] += sums[i];
  }
  return sums;
}

}  // namespace luatrace::analyze
