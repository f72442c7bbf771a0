// SPDX-License-Identifier: MIT
// The call tree: one node for each different chain of callers. The innermost loop of the analyzer
// ends here, and what it costs is cache misses, so a node is 32 bytes, a node remembers the child
// taken last, and a node with one child is in no hash table.
//
// Invariant: a parent's index is smaller than its children's; node 0 is the root, function 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace luatrace {

struct CallNode {
  uint64_t self = 0;  // Ticks (or ns) with this call innermost.
  uint64_t calls = 0;
  uint32_t function = 0;
  uint32_t parent = 0;
  uint32_t last = 0;  // Child taken last, 0: none (node 0 is nobody's child).
  uint32_t children = 0;
};

class CallTree {
 public:
  CallTree() : nodes_(1), slots_(1024) {}

  // The child of `node` for `function` (not 0), made if it is new.
  uint32_t enter(uint32_t node, uint32_t function) {
    uint32_t child = nodes_[node].last;
    if (nodes_[child].function == function) [[likely]]
      return child;
    return other_child(node, function);
  }

  CallNode& operator[](uint32_t node) { return nodes_[node]; }
  const CallNode& operator[](uint32_t node) const { return nodes_[node]; }
  size_t size() const { return nodes_.size(); }

 private:
  uint32_t other_child(uint32_t node, uint32_t function);
  uint32_t add(uint32_t node, uint32_t function);
  void insert(uint32_t child);
  void grow();

  std::vector<CallNode> nodes_;
  // Open addressing; a slot is (high half of the hash) << 32 | child, 0: free. Only the children
  // of nodes with several.
  std::vector<uint64_t> slots_;
  size_t used_ = 0;
};

}  // namespace luatrace
