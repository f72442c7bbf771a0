// SPDX-License-Identifier: MIT
// The stack machines' Sink that sums up: a call tree and per-function statistics, in ticks.
// Invariant: memory grows with the call tree and the number of functions, never with the trace.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "analyzer/collect/call_tree.h"
#include "analyzer/collect/histogram.h"

namespace luatrace::analyze {

class Profile {
 public:
  static constexpr bool kNotes = false;
  static constexpr bool kFrames = false;
  virtual ~Profile() = default;

  [[gnu::always_inline]] uint32_t enter(uint32_t node, uint32_t function) {
    return tree_.enter(node, function);
  }
  [[gnu::always_inline]] uint32_t enter(uint32_t node, uint32_t function, uint64_t hash) {
    return tree_.enter(node, function, hash);
  }
  uint32_t enter_base(uint32_t node, uint32_t function) { return tree_.enter(node, function); }
  uint32_t enter_again(uint32_t node, uint32_t, uint32_t function) {
    return tree_.enter(node, function);
  }
  // See machine/prefetch.h.
  bool looks_ahead() const { return tree_.is_large(); }
  CallTree& look_up() { return tree_; }
  // Takes the nodes of the call tree from `budget`; null: their number is not limited.
  void limit(NodeBudget* budget) { tree_.limit(budget); }
  void call(uint32_t node) { tree_[node].calls++; }
  void add_self_time(uint32_t node, uint64_t ticks) { tree_[node].self += ticks; }
  [[gnu::always_inline]] void ended(uint32_t, uint32_t function, uint64_t running) {
    if (function >= stats_.size()) [[unlikely]]
      stats_.resize(2 * size_t{function} + 64);
    CallStats& s = stats_[function];
    s.min = std::min(s.min, running);
    s.max = std::max(s.max, running);
    s.sum += running;
    s.complete++;
  }
  void suspended(uint32_t node, uint64_t ticks) { add_at(suspended_, node, ticks); }
  // Adds calls, of any function, whose recording overhead is in this node's self time; for sinks
  // that leave out calls. Without it, these are the calls of the node and its children.
  void charged(uint32_t node, uint64_t calls) { add_at(charged_, node, calls); }

  // Adds a profile with the same function table. same: the function that replaces each function in
  // the call tree (only there); null: none is replaced.
  void add(const Profile& other, const std::vector<uint32_t>* same = nullptr);

  // All has been read: frees what only reading needs.
  void close() { tree_.drop_index(); }

  const CallTree& tree() const { return tree_; }
  virtual CallStats stats(uint32_t function) const {
    return function < stats_.size() ? stats_[function] : CallStats{};
  }
  // Ticks during which a coroutine was suspended with this node's call innermost.
  uint64_t suspended_at(uint32_t node) const {
    return node < suspended_.size() ? suspended_[node] : 0;
  }
  bool has_charges() const { return !charged_.empty(); }
  uint64_t charged_at(uint32_t node) const { return node < charged_.size() ? charged_[node] : 0; }

 private:
  void add_at(std::vector<uint64_t>& list, uint32_t node, uint64_t value) {
    if (node >= list.size()) list.resize(std::max(tree_.size(), 2 * list.size()));
    list[node] += value;
  }

  CallTree tree_;
  std::vector<CallStats> stats_;     // By function.
  std::vector<uint64_t> suspended_;  // By node; separate from the tree, as few nodes have it.
  std::vector<uint64_t> charged_;    // By node.
};

// A profile with a histogram of each function. Results are valid only after finish().
class HistogramProfile : public Profile {
 public:
  [[gnu::always_inline]] void ended(uint32_t, uint32_t function, uint64_t running) {
    histograms_.add_later(function, running);
  }
  void set_clock(const Clock& clock) { histograms_.set_clock(clock); }
  void finish() { histograms_.settle(); }
  void add(const HistogramProfile& other) {
    Profile::add(other);
    histograms_.add(other.histograms_);
  }
  const Histograms& histograms() const { return histograms_; }
  CallStats stats(uint32_t function) const override { return histograms_.stats(function); }

 private:
  Histograms histograms_;
};

}  // namespace luatrace::analyze
