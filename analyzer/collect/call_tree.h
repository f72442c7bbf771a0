// SPDX-License-Identifier: MIT
// The call tree: one node per call path. The analyzer's innermost loop ends here, and its cost is
// cache misses. So a node is 32 bytes and stores the last child taken and that child's function,
// and the hash table of children holds whole keys: a look-up reads no other node, and the processor
// can go on with the next event before the node arrives.
//
// The slot of a node in that table depends only on the functions of its call path, not on node
// numbers. So if the next calls are known, their slots are known before the nodes are, and can be
// prefetched (machine/prefetch.h). A hash collision of two paths only costs one more probe; a
// random factor prevents traces crafted to have many.
//
// A tree may have a limit (limit()): calls for which no node is left are then added to a `[pruned]`
// child of their caller, or of the root if no node is left for that either.
//
// Invariant: a parent's index is smaller than its children's; node 0 is the root, function 0;
// a node of [pruned] has no children.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/grow_array.h"

namespace luatrace::analyze {

struct CallNode {
  uint64_t self = 0;  // Ticks (or ns) during which this call was innermost.
  uint64_t calls = 0;
  uint32_t function = 0;
  uint32_t parent = 0;
  uint32_t last = 0;           // Last child taken; 0: none (node 0 is never a child).
  uint32_t last_function = 0;  // Function of `last`.
};

// How many nodes may still be made, by one tree or by several in different threads. One ninth is
// reserved for [pruned].
class NodeBudget {
 public:
  explicit NodeBudget(uint64_t nodes) : nodes_(nodes - nodes / 9), pruned_(nodes / 9) {}
  bool take() { return take(nodes_); }
  bool take_pruned() { return take(pruned_); }
  bool exhausted() const { return exhausted_; }

 private:
  bool take(std::atomic<uint64_t>& left) {
    uint64_t n = left.load(std::memory_order_relaxed);
    while (n && !left.compare_exchange_weak(n, n - 1, std::memory_order_relaxed)) {
    }
    if (!n) exhausted_.store(true, std::memory_order_relaxed);
    return n != 0;
  }
  std::atomic<uint64_t> nodes_, pruned_;
  std::atomic<bool> exhausted_{false};
};

class CallTree {
 public:
  CallTree();

  // From now on, takes nodes from `budget`; null: no limit.
  void limit(NodeBudget* budget) { budget_ = budget; }

  // Returns the child of `node` for `function` (not 0), creating it if necessary.
  [[gnu::always_inline]] uint32_t enter(uint32_t node, uint32_t function) {
    const CallNode& n = nodes_[node];
    if (n.last_function == function) [[likely]]
      return n.last;
    const uint32_t child = enter(node, function, child_hash(hashes_[node], function));
    nodes_[node].last_function = function;  // Not through n: the node may have moved.
    return nodes_[node].last = child;
  }
  // The same if the hash of the child's call path is known.
  [[gnu::always_inline]] uint32_t enter(uint32_t node, uint32_t function, uint64_t hash) {
    const uint64_t key = key_of(node, function);
    const size_t mask = slots_.size() - 1;
    for (size_t at = place_of(hash);; at = (at + 1) & mask) {
      if (slots_[at].key == key) [[likely]]
        return slots_[at].child;
      if (slots_[at].key == 0) return add(node, function, hash, at);
    }
  }

  // The hash of a node's call path, and that of the path extended by one call.
  uint64_t hash_of(uint32_t node) const { return hashes_[node]; }
  // Multiplied twice: with one multiplication, consecutive functions would be evenly spaced, and
  // with some factors many of them adjacent.
  uint64_t child_hash(uint64_t hash, uint32_t function) const {
    hash = (hash ^ function) * 0x9e3779b97f4a7c15;
    hash = (hash ^ hash >> 32) * factor_;
    return hash ^ hash >> 29;
  }
  // Prefetch the slot that enter() reads, and, once the slot is cached, the node.
  void fetch_place(uint64_t hash) const { __builtin_prefetch(&slots_[place_of(hash)]); }
  void fetch_node(uint64_t hash) const {
    __builtin_prefetch(&nodes_[slots_[place_of(hash)].child], 1);
  }
  // Frees what only enter() and hashes need. enter() must not be called until make_index().
  void drop_index();
  void make_index();
  // Whether the tree exceeds the second-level cache, so that prefetching pays off.
  bool is_large() const { return nodes_.size() > 16384; }

  CallNode& operator[](uint32_t node) { return nodes_[node]; }
  const CallNode& operator[](uint32_t node) const { return nodes_[node]; }
  size_t size() const { return nodes_.size(); }

 private:
  struct Slot {
    uint64_t key = 0;  // parent << 32 | function; 0: free.
    uint32_t child = 0;
    uint32_t hash = 0;  // Upper half of the hash; its upper bits are the slot.
  };
  // Never 0, because no child has function 0.
  static uint64_t key_of(uint32_t parent, uint32_t function) {
    return uint64_t{parent} << 32 | function;
  }
  size_t place_of(uint64_t hash) const { return hash >> shift_; }
  uint32_t add(uint32_t node, uint32_t function, uint64_t hash, size_t slot);
  uint32_t make(uint32_t node, uint32_t function, uint64_t hash, size_t slot);
  uint32_t pruned(uint32_t node);
  void grow();

  GrowArray<CallNode> nodes_;
  GrowArray<uint64_t> hashes_;  // By node.
  GrowArray<Slot> slots_;       // Open addressing, at most half full.
  uint32_t shift_;
  uint64_t factor_;
  NodeBudget* budget_ = nullptr;
};

}  // namespace luatrace::analyze
