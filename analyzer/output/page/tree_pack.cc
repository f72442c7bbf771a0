// SPDX-License-Identifier: MIT
#include "analyzer/output/page/tree_pack.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

#include "analyzer/collect/tree_links.h"
#include "analyzer/report/report.h"
#include "analyzer/report/tree_times.h"
#include "base/leb128.h"

namespace luatrace::analyze::page {
namespace {

void check(const FlameInput& input) {
  for (NodeId i{1}; i < input.tree->size(); ++i) {
    const uint32_t function = (*input.tree)[i].function;
    if (function >= input.functions.size())
      throw std::invalid_argument("flame page: node " + std::to_string(i) + " names function " +
                                  std::to_string(function) + " of " +
                                  std::to_string(input.functions.size()));
  }
}

// The figures written for a node.
struct Figures {
  uint64_t calls = 0, self_ns = 0, before_calls = 0, before_self_ns = 0;

  Figures& operator+=(const Figures& other) {
    calls += other.calls;
    self_ns += other.self_ns;
    before_calls += other.before_calls;
    before_self_ns += other.before_self_ns;
    return *this;
  }
};

// The root's self time is idle time, which the page does not show.
Figures figures_of(const FlameInput& input, NodeId node) {
  if (node == kRootNode) return {};
  const CallNode& n = (*input.tree)[node];
  if (!input.before) return {n.calls, n.self, 0, 0};
  const NodeFigures& before = (*input.before)[node];
  return {n.calls, n.self, before.calls, before.self_ns};
}

// Selects the nodes to keep: the max_nodes largest. A parent is never smaller than its child, and
// of equal nodes the first in the input wins, so the parent of a kept node is kept.
std::vector<bool> choose(const std::vector<uint64_t>& inclusive, size_t max_nodes) {
  if (max_nodes == 0 || inclusive.size() <= max_nodes)
    return std::vector<bool>(inclusive.size(), true);
  std::vector<uint32_t> order(inclusive.size());
  std::iota(order.begin(), order.end(), 0);
  auto larger = [&](uint32_t a, uint32_t b) {
    return inclusive[a] != inclusive[b] ? inclusive[a] > inclusive[b] : a < b;
  };
  std::nth_element(order.begin(), order.begin() + max_nodes, order.end(), larger);
  order.resize(max_nodes);
  std::vector<bool> keep(inclusive.size());
  for (uint32_t node : order) keep[node] = true;
  return keep;
}

std::vector<FunctionTotals> sum_functions(const FlameInput& input,
                                          const std::vector<uint64_t>& inclusive,
                                          const std::vector<uint64_t>& before) {
  const CallTree& tree = *input.tree;
  std::vector<FunctionTotals> totals(input.functions.size());
  for (NodeId i{1}; i < tree.size(); ++i) {
    const Figures figures = figures_of(input, i);
    FunctionTotals& sum = totals[tree[i].function];
    sum.calls += figures.calls;
    sum.self_ns += figures.self_ns;
    sum.before_calls += figures.before_calls;
    sum.before_self_ns += figures.before_self_ns;
  }
  const auto sums = outermost_sums(tree, totals.size(), inclusive);
  for (size_t f = 0; f < totals.size(); f++) totals[f].inclusive_ns = sums[f];
  if (!input.before) return totals;
  const auto sums_before = outermost_sums(tree, totals.size(), before);
  for (size_t f = 0; f < totals.size(); f++) totals[f].before_inclusive_ns = sums_before[f];
  return totals;
}

// Appends nodes to PackedTree::bytes; depth 0 is the root.
class Encoder {
 public:
  Encoder(PackedTree& tree, bool diff) : tree_(tree), diff_(diff) {}

  void add(uint32_t depth, uint64_t function, const Figures& figures) {
    auto number = [&](uint64_t value) { put_leb128(tree_.bytes, value); };
    number(below_ - depth);
    number(function);
    number(figures.calls);
    number(figures.self_ns);
    if (diff_) number(figures.before_calls), number(figures.before_self_ns);
    below_ = depth + 1;
    tree_.nodes++;
  }

 private:
  PackedTree& tree_;
  const bool diff_;
  uint32_t below_ = 0;
};

// Writes the nodes to keep, each with a [pruned] child for those of its children that are not kept.
class TreeWriter {
 public:
  // inclusive, before: times by node, in ns.
  TreeWriter(PackedTree& packed, const FlameInput& input, const std::vector<bool>& keep,
             const std::vector<uint64_t>& inclusive, const std::vector<uint64_t>& before)
      : packed_(packed),
        input_(input),
        keep_(keep),
        inclusive_(inclusive),
        before_(before),
        links_(*input.tree),
        encoder_(packed, input.before) {}

  void write() {
    uint32_t depth = 0;
    add(kRootNode, depth++, packed_.functions.size() + 1);
    links_.walk(
        [&](NodeId node) {
          if (keep_[node]) add(node, depth, (*input_.tree)[node].function);
          depth++;
        },
        [&](NodeId) { depth--; });
  }

 private:
  void add(NodeId node, uint32_t depth, uint64_t function) {
    encoder_.add(depth, function, figures_of(input_, node));
    Figures lost;
    bool any = false;
    for (NodeId child = links_.child(node); child; child = links_.sibling(child)) {
      if (keep_[child]) continue;
      any = true;
      Figures figures = figures_of(input_, child);
      figures.self_ns = inclusive_[child];
      figures.before_self_ns = before_[child];
      lost += figures;
    }
    if (any) encoder_.add(depth + 1, packed_.functions.size(), lost);
    packed_.pruned_ns += lost.self_ns;
  }

  PackedTree& packed_;
  const FlameInput& input_;
  const std::vector<bool>& keep_;
  const std::vector<uint64_t>&inclusive_, &before_;
  const TreeLinks links_;
  Encoder encoder_;
};

}  // namespace

PackedTree pack_tree(const FlameInput& input) {
  PackedTree tree;
  tree.functions.resize(input.functions.size());
  if (!input.tree) return tree;
  check(input);
  const std::vector<uint64_t> inclusive = inclusive_ns(*input.tree);
  std::vector<uint64_t> before(inclusive.size());
  if (input.before) before = inclusive_before_ns(*input.tree, *input.before);
  // Nodes that vanished are as worth keeping as those that exist.
  std::vector<uint64_t> larger(inclusive.size());
  for (size_t i = 0; i < larger.size(); i++) larger[i] = std::max(inclusive[i], before[i]);
  const std::vector<bool> keep = choose(larger, input.max_nodes);
  tree.functions = sum_functions(input, inclusive, before);
  tree.total_ns = inclusive[0];
  tree.before_ns = before[0];
  tree.pruned_nodes = std::count(keep.begin(), keep.end(), false);
  TreeWriter(tree, input, keep, inclusive, before).write();
  return tree;
}

}  // namespace luatrace::analyze::page
