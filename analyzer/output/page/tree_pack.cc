// SPDX-License-Identifier: MIT
// See tree_pack.h. Parents come before their children in the input, so a loop from the last node to
// the first sums subtrees; everything else is one walk in preorder over lists of children.
#include "analyzer/output/page/tree_pack.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

#include "base/leb128.h"

namespace luatrace::analyze::page {
namespace {

void check(const FlameInput& input) {
  for (size_t i = 1; i < input.nodes.size(); i++) {
    const FlameNode& node = input.nodes[i];
    if (node.parent >= i) {
      throw std::invalid_argument("flame page: node " + std::to_string(i) + " has parent " +
                                  std::to_string(node.parent) + ", which is not before it");
    }
    if (node.function >= input.functions.size()) {
      throw std::invalid_argument("flame page: node " + std::to_string(i) + " names function " +
                                  std::to_string(node.function) + " of " +
                                  std::to_string(input.functions.size()));
    }
  }
}

// Inclusive time of each node, from the self times alone.
std::vector<uint64_t> sum_up(const std::vector<FlameNode>& nodes, uint64_t FlameNode::*self) {
  std::vector<uint64_t> inclusive(nodes.size());
  for (size_t i = nodes.size(); i-- > 0;) {
    inclusive[i] += nodes[i].*self;
    if (i > 0) inclusive[nodes[i].parent] += inclusive[i];
  }
  return inclusive;
}

// The children of each node in the order of the input: those of node i are
// child[first[i]] ... child[first[i + 1] - 1].
struct Children {
  std::vector<uint32_t> first, child;

  explicit Children(const std::vector<FlameNode>& nodes)
      : first(nodes.size() + 2), child(nodes.empty() ? 0 : nodes.size() - 1) {
    for (size_t i = 1; i < nodes.size(); i++) first[nodes[i].parent + 2]++;
    std::partial_sum(first.begin(), first.end(), first.begin());
    for (size_t i = 1; i < nodes.size(); i++) {
      child[first[nodes[i].parent + 1]++] = static_cast<uint32_t>(i);
    }
  }
};

// Calls enter(node) in preorder and leave(node) when its subtree is done.
template <typename Enter, typename Leave>
void walk(const std::vector<FlameNode>& nodes, const Children& children, Enter enter, Leave leave) {
  struct Frame {
    uint32_t node, next;
  };
  std::vector<Frame> stack;
  auto open = [&](uint32_t node) {
    enter(node);
    stack.push_back({node, children.first[node]});
  };
  if (!nodes.empty()) open(0);
  while (!stack.empty()) {
    Frame& top = stack.back();
    if (top.next < children.first[top.node + 1]) {
      open(children.child[top.next++]);
    } else {
      leave(top.node);
      stack.pop_back();
    }
  }
}

// Selects the nodes to keep: the max_nodes largest of those with at least min_share of the total. A
// parent is never smaller than its child, and of equal nodes the first in the input wins, so the
// parent of a kept node is kept.
std::vector<bool> choose(const std::vector<uint64_t>& inclusive, const FlamePageOptions& options) {
  std::vector<uint32_t> order;
  const double least = options.min_share * (inclusive.empty() ? 0.0 : double(inclusive[0]));
  for (size_t i = 0; i < inclusive.size(); i++) {
    if (i == 0 || double(inclusive[i]) >= least) order.push_back(static_cast<uint32_t>(i));
  }
  if (options.max_nodes != 0 && order.size() > options.max_nodes) {
    auto larger = [&](uint32_t a, uint32_t b) {
      return inclusive[a] != inclusive[b] ? inclusive[a] > inclusive[b] : a < b;
    };
    std::nth_element(order.begin(), order.begin() + options.max_nodes, order.end(), larger);
    order.resize(options.max_nodes);
  }
  std::vector<bool> keep(inclusive.size());
  for (uint32_t node : order) keep[node] = true;
  return keep;
}

std::vector<FunctionTotals> sum_functions(const FlameInput& input, const Children& children,
                                          const std::vector<uint64_t>& inclusive,
                                          const std::vector<uint64_t>& before) {
  std::vector<FunctionTotals> totals(input.functions.size());
  std::vector<uint32_t> open(totals.size());
  auto enter = [&](uint32_t i) {
    if (i == 0) return;  // the root is not a function, whatever its index
    const FlameNode& node = input.nodes[i];
    FunctionTotals& sum = totals[node.function];
    sum.calls += node.calls;
    sum.self_ns += node.self_ns;
    sum.before_calls += node.before_calls;
    sum.before_self_ns += node.before_self_ns;
    if (open[node.function]++ > 0) return;
    sum.inclusive_ns += inclusive[i];
    sum.before_inclusive_ns += before[i];
  };
  auto leave = [&](uint32_t i) {
    if (i != 0) open[input.nodes[i].function]--;
  };
  walk(input.nodes, children, enter, leave);
  return totals;
}

// The figures written for a node.
struct Figures {
  uint64_t calls = 0, self_ns = 0, before_calls = 0, before_self_ns = 0;
};

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

void encode(PackedTree& tree, const FlameInput& input, const Children& children,
            const std::vector<uint64_t>& inclusive, const std::vector<uint64_t>& before,
            const std::vector<bool>& keep) {
  const std::vector<FlameNode>& nodes = input.nodes;
  const uint64_t pruned = input.functions.size(), root = pruned + 1;
  Encoder encoder(tree, input.diff);
  uint32_t depth = 0;
  auto enter = [&](uint32_t i) {
    const uint32_t level = depth++;
    if (!keep[i]) return;
    const FlameNode& n = nodes[i];
    encoder.add(level, i == 0 ? root : n.function,
                {n.calls, n.self_ns, n.before_calls, n.before_self_ns});
    Figures lost;
    bool any = false;
    for (uint32_t c = children.first[i]; c < children.first[i + 1]; c++) {
      const uint32_t child = children.child[c];
      if (keep[child]) continue;
      any = true;
      lost.calls += nodes[child].calls;
      lost.self_ns += inclusive[child];
      lost.before_calls += nodes[child].before_calls;
      lost.before_self_ns += before[child];
    }
    if (any) encoder.add(level + 1, pruned, lost);
    tree.pruned_ns += lost.self_ns;
  };
  walk(nodes, children, enter, [&](uint32_t) { depth--; });
}

}  // namespace

PackedTree pack_tree(const FlameInput& input, const FlamePageOptions& options) {
  check(input);
  PackedTree tree;
  const std::vector<uint64_t> inclusive = sum_up(input.nodes, &FlameNode::self_ns);
  const std::vector<uint64_t> before = sum_up(input.nodes, &FlameNode::before_self_ns);
  const Children children(input.nodes);
  // Nodes that vanished are as worth keeping as those that exist.
  std::vector<uint64_t> larger(inclusive.size());
  for (size_t i = 0; i < larger.size(); i++) larger[i] = std::max(inclusive[i], before[i]);
  const std::vector<bool> keep = choose(larger, options);
  tree.functions = sum_functions(input, children, inclusive, before);
  tree.total_ns = inclusive.empty() ? 0 : inclusive[0];
  tree.before_ns = before.empty() ? 0 : before[0];
  tree.pruned_nodes = std::count(keep.begin(), keep.end(), false);
  for (size_t i = 0; i < inclusive.size(); i++) {
    tree.unequal += input.nodes[i].inclusive_ns != inclusive[i];
  }
  encode(tree, input, children, inclusive, before, keep);
  return tree;
}

}  // namespace luatrace::analyze::page
