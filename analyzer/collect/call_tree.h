// SPDX-License-Identifier: MIT
// The call tree: one node for each different chain of callers. The innermost loop of the analyzer
// ends here, and what it costs is cache misses. So a node is 32 bytes and knows the child taken
// last with its function, and the table of children holds whole keys: a node is found without a
// look at any other, and the processor need not wait for it before it goes on with the next event.
//
// Where in that table a node stands depends on the functions of its chain alone, not on numbers of
// nodes. So whoever knows which calls come next knows the places, too, before the nodes are known,
// and can have them fetched (machine/prefetch.h). Equal hashes of different chains cost a probe
// more, nothing else; a random factor keeps traces from being made to have many.
//
// A tree may have a limit (limit()): then calls for which there is no node left count to a child
// `[pruned]` of the call that made them, or to one of the root if there is none left for that.
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
  uint64_t self = 0;  // Ticks (or ns) with this call innermost.
  uint64_t calls = 0;
  uint32_t function = 0;
  uint32_t parent = 0;
  uint32_t last = 0;           // Child taken last, 0: none (node 0 is nobody's child), ...
  uint32_t last_function = 0;  // ... and its function.
};

// How many nodes may still be made, by one tree or by several of different threads. Of each nine,
// one is for [pruned].
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

  // From now on nodes are taken from `budget`, if there is one.
  void limit(NodeBudget* budget) { budget_ = budget; }

  // The child of `node` for `function` (not 0), made if it is new.
  [[gnu::always_inline]] uint32_t enter(uint32_t node, uint32_t function) {
    const CallNode& n = nodes_[node];
    if (n.last_function == function) [[likely]]
      return n.last;
    const uint32_t child = enter(node, function, child_hash(hashes_[node], function));
    nodes_[node].last_function = function;  // Not n's: it may have moved.
    return nodes_[node].last = child;
  }
  // The same, if its hash is known.
  [[gnu::always_inline]] uint32_t enter(uint32_t node, uint32_t function, uint64_t hash) {
    const uint64_t key = key_of(node, function);
    const size_t mask = slots_.size() - 1;
    for (size_t at = place_of(hash);; at = (at + 1) & mask) {
      if (slots_[at].key == key) [[likely]]
        return slots_[at].child;
      if (slots_[at].key == 0) return add(node, function, hash, at);
    }
  }

  // The hash of a node's chain, and of that chain with one more call.
  uint64_t hash_of(uint32_t node) const { return hashes_[node]; }
  // Twice multiplied: once, functions in a row would be evenly spaced, with some factors so that
  // many of them lie side by side.
  uint64_t child_hash(uint64_t hash, uint32_t function) const {
    hash = (hash ^ function) * 0x9e3779b97f4a7c15;
    hash = (hash ^ hash >> 32) * factor_;
    return hash ^ hash >> 29;
  }
  // Have fetched what enter() looks at, and, when that is there, what is done to the node.
  void fetch_place(uint64_t hash) const { __builtin_prefetch(&slots_[place_of(hash)]); }
  void fetch_node(uint64_t hash) const {
    __builtin_prefetch(&nodes_[slots_[place_of(hash)].child], 1);
  }
  // Gives back what only enter() and hashes need. Nothing may be entered until make_index().
  void drop_index();
  void make_index();
  // Whether the second level cache cannot hold it, so that fetching is worth its while.
  bool is_large() const { return nodes_.size() > 16384; }

  CallNode& operator[](uint32_t node) { return nodes_[node]; }
  const CallNode& operator[](uint32_t node) const { return nodes_[node]; }
  size_t size() const { return nodes_.size(); }

 private:
  struct Slot {
    uint64_t key = 0;  // parent << 32 | function; 0: free.
    uint32_t child = 0;
    uint32_t hash = 0;  // Its upper half, of which the upper bits are the place.
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
