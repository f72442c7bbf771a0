// SPDX-License-Identifier: MIT
#include "analyzer/report/stack_limit.h"

#include <algorithm>
#include <string>
#include <utility>

#include "analyzer/collect/tree_links.h"

namespace luatrace::analyze {
namespace {

std::vector<uint32_t> depths(const CallTree& tree) {
  std::vector<uint32_t> depth(tree.size());
  for (NodeId i{1}; i < tree.size(); ++i) depth[i] = depth[tree[i].parent] + 1;
  return depth;
}

// By depth: the bytes that calls at that depth take in the stacks of all nodes.
std::vector<uint64_t> bytes_by_depth(const CallTree& tree, const std::vector<uint32_t>& depth,
                                     const std::vector<uint64_t>& size) {
  // By node: the number of stacks that contain it.
  const std::vector<uint64_t> stacks = subtree_sums(tree, [](NodeId) { return 1; });
  std::vector<uint64_t> bytes(*std::max_element(depth.begin(), depth.end()) + size_t{1});
  for (NodeId i{1}; i < tree.size(); ++i) bytes[depth[i]] += stacks[i] * size[tree[i].function];
  return bytes;
}

}  // namespace

std::optional<uint32_t> stack_limit(const Report& report, const std::vector<uint64_t>& size) {
  const CallTree& tree = report.tree;
  const std::vector<uint64_t> bytes = bytes_by_depth(tree, depths(tree), size);
  uint64_t left = kStackBytesFree + kStackBytesPerNode * tree.size();
  for (uint32_t depth = 1; depth < bytes.size(); depth++) {
    if (bytes[depth] > left) return std::max(depth - 1, 1u);
    left -= bytes[depth];
  }
  return std::nullopt;
}

void cut_stacks(Report& report, uint32_t depth) {
  ReportFunction deeper;
  deeper.kind = FunctionKind::kPruned;
  deeper.name = "[calls deeper than " + std::to_string(depth) + ']';
  const ReportFunctionId function = report.function(deeper);
  const CallTree from = std::exchange(report.tree, {});
  const auto cost = std::exchange(report.node_cost_ps, std::vector<uint64_t>(1));
  const auto suspended = std::exchange(report.node_suspended_ns, std::vector<uint64_t>(1));
  const NodeTimes off = std::exchange(report.cpu.off, {});
  const NodeTimes compiled = std::exchange(report.compiled, {});
  const std::vector<uint32_t> level = depths(from);
  std::vector<NodeId> place(from.size());
  for (NodeId i; i < from.size(); ++i) {
    const NodeId above = place[from[i].parent];
    const bool has_node = i && level[i] <= depth + 1;
    const ReportFunctionId shown = level[i] > depth ? function : ReportFunctionId(from[i].function);
    place[i] = has_node ? report.enter(above, shown) : above;
    report.tree[place[i]].calls += from[i].calls;
    report.tree[place[i]].self += from[i].self;
    report.node_cost_ps[place[i]] += cost[i];
    report.node_suspended_ns[place[i]] += suspended[i];
    report.cpu.off.add(place[i], off.at(i));
    report.compiled.add(place[i], compiled.at(i));
  }
}

}  // namespace luatrace::analyze
