// SPDX-License-Identifier: MIT
#include "analyzer/report/compensate.h"

#include "analyzer/collect/tree_links.h"
#include "analyzer/report/tree_times.h"

namespace luatrace::analyze {
namespace {

bool is_rough(uint64_t cost, uint64_t time) {
  return static_cast<double>(cost) > kRoughShare * static_cast<double>(time);
}

}  // namespace

Compensation compensate(const Report& report) {
  const CallTree& tree = report.tree;
  const size_t n = tree.size();
  std::vector<uint64_t> cost(n), self(n);
  for (NodeId i{1}; i < n; ++i) {
    cost[i] = report.node_cost_ps[i] / 1000;
    self[i] = tree[i].self > cost[i] ? tree[i].self - cost[i] : 0;
  }
  const auto sums_of = [&](const std::vector<uint64_t>& values) {
    return subtree_sums(tree, [&](NodeId node) { return values[node]; });
  };
  const std::vector<uint64_t> inclusive = sums_of(self), inclusive_cost = sums_of(cost);
  const std::vector<uint64_t> raw = inclusive_ns(tree);
  Compensation out;
  out.nodes.resize(n);
  out.functions.resize(report.functions.size());
  std::vector<uint64_t> function_cost(report.functions.size());
  for (NodeId i{1}; i < n; ++i) {
    out.nodes[i] = {self[i], inclusive[i],
                    is_rough(cost[i], tree[i].self) || is_rough(inclusive_cost[i], raw[i])};
    out.functions[tree[i].function].self_ns += self[i];
    function_cost[tree[i].function] += cost[i];
  }
  auto sums = outermost_sums(tree, report.functions.size(), inclusive);
  auto costs = outermost_sums(tree, report.functions.size(), inclusive_cost);
  for (size_t i = kReportUnknown; i < report.functions.size(); i++) {
    const ReportFunction& f = report.functions[i];
    out.functions[i].inclusive_ns = sums[i];
    out.functions[i].rough =
        is_rough(function_cost[i], f.self_ns) || is_rough(costs[i], f.inclusive_ns);
  }
  return out;
}

}  // namespace luatrace::analyze
