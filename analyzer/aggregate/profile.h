// SPDX-License-Identifier: MIT
// The Sink of the stack machines that adds up: call tree and per-function extremes, in ticks.
// Invariant: memory grows with the call tree and the number of functions, never with the trace.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "analyzer/aggregate/call_tree.h"

namespace luatrace {

// Of the calls of a function that were seen from beginning to end: running time of each.
struct CallStats {
  uint64_t min = UINT64_MAX;
  uint64_t max = 0;
  uint64_t sum = 0;
  uint64_t complete = 0;
};

class Profile {
 public:
  static constexpr bool kNotes = false;

  uint32_t enter(uint32_t node, uint32_t function) { return tree_.enter(node, function); }
  void call(uint32_t node) { tree_[node].calls++; }
  void spend(uint32_t node, uint64_t ticks) { tree_[node].self += ticks; }
  void ended(uint32_t function, uint64_t running) {
    if (function >= stats_.size()) [[unlikely]]
      stats_.resize(2 * size_t{function} + 64);
    CallStats& s = stats_[function];
    s.min = std::min(s.min, running);
    s.max = std::max(s.max, running);
    s.sum += running;
    s.complete++;
  }
  void suspended(uint32_t node, uint64_t ticks) {
    if (node >= suspended_.size()) suspended_.resize(std::max(tree_.size(), 2 * suspended_.size()));
    suspended_[node] += ticks;
  }

  const CallTree& tree() const { return tree_; }
  CallStats stats(uint32_t function) const {
    return function < stats_.size() ? stats_[function] : CallStats{};
  }
  // Ticks that a coroutine was suspended with this node's call innermost.
  uint64_t suspended_at(uint32_t node) const {
    return node < suspended_.size() ? suspended_[node] : 0;
  }

 private:
  CallTree tree_;
  std::vector<CallStats> stats_;     // By function.
  std::vector<uint64_t> suspended_;  // By node; apart, because few nodes have it.
};

}  // namespace luatrace
