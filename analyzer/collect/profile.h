// SPDX-License-Identifier: MIT
// The stack machines' Sink that sums up: a call tree and per-function statistics, in ticks. Memory
// grows with the call tree and the number of functions, never with the trace.
//
// The call tree has one node per call path. The analyzer's innermost loop ends here, and its cost
// is cache misses. So a node is 32 bytes and stores the last child taken and that child's function,
// and the hash table of children holds whole keys: a look-up reads no other node, and the processor
// can continue with the next event before the node arrives.
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

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/collect/histogram.h"
#include "base/grow_array.h"
#include "base/id.h"

namespace luatrace::analyze {

using NodeId = Id<struct NodesOfTree>;
constexpr NodeId kRootNode;  // 0

struct CallNode {
  uint64_t self = 0;  // Ticks (or ns) during which this call was innermost.
  uint64_t calls = 0;
  uint32_t function = 0;
  NodeId parent;
  NodeId last;                 // Last child taken; 0: none (the root is never a child).
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
  [[gnu::always_inline]] NodeId enter(NodeId node, uint32_t function) {
    const CallNode& n = nodes_[node];
    if (n.last_function == function) [[likely]]
      return n.last;
    const NodeId child = enter(node, function, child_hash(hashes_[node], function));
    nodes_[node].last_function = function;  // Not through n: the node may have moved.
    return nodes_[node].last = child;
  }
  // The same if the hash of the child's call path is known.
  [[gnu::always_inline]] NodeId enter(NodeId node, uint32_t function, uint64_t hash) {
    const uint64_t key = pair_key(node, function);
    const size_t mask = slots_.size() - 1;
    for (size_t at = place_of(hash);; at = (at + 1) & mask) {
      if (slots_[at].key == key) [[likely]]
        return slots_[at].child;
      if (slots_[at].key == 0) return add(node, function, hash, at);
    }
  }

  // The hash of a node's call path, and that of the path extended by one call. (For the machines,
  // to which a node is a number that their sink understands.)
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

  CallNode& operator[](NodeId node) { return nodes_[node]; }
  const CallNode& operator[](NodeId node) const { return nodes_[node]; }
  size_t size() const { return nodes_.size(); }

 private:
  struct Slot {
    uint64_t key = 0;  // Parent and function; 0: free, as no child has function 0.
    NodeId child;
    uint32_t hash = 0;  // Upper half of the hash; its upper bits are the slot.
  };
  size_t place_of(uint64_t hash) const { return hash >> shift_; }
  NodeId add(NodeId node, uint32_t function, uint64_t hash, size_t slot);
  NodeId make(NodeId node, uint32_t function, uint64_t hash, size_t slot);
  NodeId pruned(NodeId node);
  void grow();

  GrowArray<CallNode> nodes_;
  GrowArray<uint64_t> hashes_;  // By node.
  GrowArray<Slot> slots_;       // Open addressing, at most half full.
  uint32_t shift_;
  uint64_t factor_;
  NodeBudget* budget_ = nullptr;
};

class Profile {
 public:
  static constexpr bool kNotes = false;
  static constexpr bool kFrames = false;
  virtual ~Profile() = default;

  [[gnu::always_inline]] uint32_t enter(uint32_t node, FunctionId function) {
    return tree_.enter(NodeId(node), function);
  }
  [[gnu::always_inline]] uint32_t enter(uint32_t node, FunctionId function, uint64_t hash) {
    return tree_.enter(NodeId(node), function, hash);
  }
  uint32_t enter_base(uint32_t node, FunctionId function) {
    return tree_.enter(NodeId(node), function);
  }
  uint32_t enter_again(uint32_t node, uint32_t, FunctionId function) {
    return tree_.enter(NodeId(node), function);
  }
  // See machine/prefetch.h.
  bool prefetches() const { return tree_.is_large(); }
  CallTree& machine_tree() { return tree_; }
  // Takes the nodes of the call tree from `budget`; null: their number is not limited.
  void limit(NodeBudget* budget) { tree_.limit(budget); }
  void call(uint32_t node) { tree_[NodeId(node)].calls++; }
  void add_self_time(uint32_t node, uint64_t ticks) { tree_[NodeId(node)].self += ticks; }
  [[gnu::always_inline]] void ended(uint32_t, FunctionId function, uint64_t running) {
    CallTimes& s = grown(stats_, function);
    s.min = std::min(s.min, running);
    s.max = std::max(s.max, running);
    s.sum += running;
    s.complete++;
  }
  void ended_inside(uint32_t, FunctionId function, uint64_t calls, uint64_t running) {
    InsideCalls& s = grown(inside_, function);
    s.inside += calls;
    s.inside_sum += running;
  }
  void repeated(uint32_t node, FunctionId function, uint64_t calls, uint64_t running) {
    tree_[NodeId(node)].calls += calls;
    ended_inside(node, function, calls, running);
  }
  void apportioned(uint32_t node, uint64_t ticks) { add_at(apportioned_, node, ticks); }
  void suspended(uint32_t node, uint64_t ticks) { add_at(suspended_, node, ticks); }
  void off_cpu(uint32_t node, uint64_t ticks) { add_at(off_cpu_, node, ticks); }
  // Of samples: time of the node in compiled code.
  void compiled(uint32_t node, uint64_t ns) { add_at(compiled_, node, ns); }
  // Adds calls, of any function, whose recording overhead is in this node's self time; for sinks
  // that leave out calls. Without it, these are the calls of the node and its children.
  void charged(uint32_t node, uint64_t calls) { add_at(charged_, node, calls); }

  // Adds a profile with the same function table. same: the function that replaces each function in
  // the call tree (only there); null: none is replaced. Returns where its nodes are now, by node.
  std::vector<NodeId> add(const Profile& other, const std::vector<FunctionId>* same = nullptr);

  // All has been read: frees what only reading needs.
  void close() { tree_.drop_index(); }

  CallTree& tree() { return tree_; }
  const CallTree& tree() const { return tree_; }
  CallStats stats(FunctionId function) const {
    return {measured(function), function < inside_.size() ? inside_[function] : InsideCalls{}};
  }
  // Ticks during which a coroutine was suspended with this node's call innermost.
  uint64_t suspended_at(uint32_t node) const {
    return node < suspended_.size() ? suspended_[node] : 0;
  }
  // Ticks of its self time during which the thread did not run, as far as known.
  uint64_t off_cpu_at(uint32_t node) const { return node < off_cpu_.size() ? off_cpu_[node] : 0; }
  // Ticks of its self time that were apportioned inside segments.
  uint64_t apportioned_at(uint32_t node) const {
    return node < apportioned_.size() ? apportioned_[node] : 0;
  }
  uint64_t compiled_at(uint32_t node) const {
    return node < compiled_.size() ? compiled_[node] : 0;
  }
  bool has_charges() const { return !charged_.empty(); }
  uint64_t charged_at(uint32_t node) const { return node < charged_.size() ? charged_[node] : 0; }

 protected:
  // Those of the calls whose single times are known.
  virtual CallTimes measured(FunctionId function) const {
    return function < stats_.size() ? stats_[function] : CallTimes{};
  }

 private:
  void add_at(std::vector<uint64_t>& list, uint32_t node, uint64_t value) {
    if (node >= list.size()) list.resize(std::max(tree_.size(), 2 * list.size()));
    list[node] += value;
  }

  CallTree tree_;
  std::vector<CallTimes> stats_;       // By function.
  std::vector<InsideCalls> inside_;    // By function; of calls inside segments.
  std::vector<uint64_t> suspended_;    // By node; separate from the tree, as few nodes have it.
  std::vector<uint64_t> off_cpu_;      // By node; the same.
  std::vector<uint64_t> apportioned_;  // By node.
  std::vector<uint64_t> compiled_;     // By node; of samples only.
  std::vector<uint64_t> charged_;      // By node.
};

// A profile with a histogram of each function. Results are valid only after finish().
class HistogramProfile : public Profile {
 public:
  [[gnu::always_inline]] void ended(uint32_t, FunctionId function, uint64_t running) {
    histograms_.add_later(function, running);
  }
  void set_clock(const Clock& clock) { histograms_.set_clock(clock); }
  void finish() { histograms_.settle(); }
  std::vector<NodeId> add(const HistogramProfile& other) {
    histograms_.add(other.histograms_);
    return Profile::add(other);
  }
  const Histograms& histograms() const { return histograms_; }

 protected:
  CallTimes measured(FunctionId function) const override { return histograms_.stats(function); }

 private:
  Histograms histograms_;
};

}  // namespace luatrace::analyze
