// SPDX-License-Identifier: MIT
// The order of the rows of a tree, and which nodes of a large tree get a row: those with the
// greatest weights and their call paths.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/collect/tree_links.h"

namespace luatrace::analyze {

class RowOrder {
 public:
  struct Entry {
    uint32_t node;
    uint32_t depth;  // 1: a child of the root.
  };

  // parent: of each node; node 0 is the root and has no row. weight: of each node; it need not
  // include that of its children. limit: of the number of rows; 0: none.
  RowOrder(const std::vector<uint32_t>& parent, const std::vector<uint64_t>& weight, size_t limit);

  // Depth first; the children of a node by weight, the greatest first, equal ones by number.
  std::vector<Entry> rows;
  size_t hidden = 0;  // Branches without rows.

 private:
  bool is_before(uint32_t a, uint32_t b) const {
    return weight_[a] != weight_[b] ? weight_[a] > weight_[b] : a < b;
  }
  void choose(const std::vector<uint32_t>& parent, size_t limit);
  void push_children(uint32_t node, uint32_t depth);

  const std::vector<uint64_t>& weight_;
  const TreeLinks links_;
  std::vector<bool> shown_;
  std::vector<Entry> stack_;
};

}  // namespace luatrace::analyze
