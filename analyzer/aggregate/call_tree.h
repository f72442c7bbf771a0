// SPDX-License-Identifier: MIT
// The call tree: one node for each different chain of callers. The innermost loop of the analyzer
// ends here, and what it costs is cache misses. So a node is 32 bytes and knows the child taken
// last with its function, and the table of children holds whole keys: a node is found without a
// look at any other, and the processor need not wait for it before it goes on with the next event.
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
  uint32_t last = 0;           // Child taken last, 0: none (node 0 is nobody's child), ...
  uint32_t last_function = 0;  // ... and its function.
};

class CallTree {
 public:
  CallTree() : nodes_(1), slots_(1024) {}

  // The child of `node` for `function` (not 0), made if it is new.
  uint32_t enter(uint32_t node, uint32_t function) {
    const CallNode& n = nodes_[node];
    if (n.last_function == function) [[likely]]
      return n.last;
    return other_child(node, function);
  }

  CallNode& operator[](uint32_t node) { return nodes_[node]; }
  const CallNode& operator[](uint32_t node) const { return nodes_[node]; }
  size_t size() const { return nodes_.size(); }

 private:
  struct Slot {
    uint64_t key = 0;  // parent << 32 | function; 0: free.
    uint32_t child = 0;
  };
  // Never 0, because no child has function 0.
  static uint64_t key_of(uint32_t parent, uint32_t function) {
    return uint64_t{parent} << 32 | function;
  }
  static size_t hash(uint64_t key) {
    uint64_t h = key * 0x9e3779b97f4a7c15u;
    return (h ^ h >> 32) * 0xbf58476d1ce4e5b9u >> 20;
  }
  uint32_t other_child(uint32_t node, uint32_t function);
  uint32_t add(uint32_t node, uint32_t function, size_t slot);
  void grow();

  std::vector<CallNode> nodes_;
  std::vector<Slot> slots_;  // Open addressing, at most 5/8 full.
};

}  // namespace luatrace
