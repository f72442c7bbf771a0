// SPDX-License-Identifier: MIT
#include "analyzer/report/compensate.h"

#include "analyzer/report/tree_times.h"

namespace luatrace::analyze {
namespace {

bool much(uint64_t cost, uint64_t of) {
  return static_cast<double>(cost) > kMuchCorrected * static_cast<double>(of);
}

std::vector<uint64_t> summed_up(const CallTree& tree, std::vector<uint64_t> values) {
  for (auto i = static_cast<uint32_t>(tree.size()); i-- > 1;) values[tree[i].parent] += values[i];
  return values;
}

}  // namespace

Compensation compensate(const Report& report) {
  const CallTree& tree = report.tree;
  const size_t n = tree.size();
  std::vector<uint64_t> cost(n), self(n);
  for (uint32_t i = 1; i < n; i++) {
    cost[i] = report.node_cost_ps[i] / 1000;
    self[i] = tree[i].self > cost[i] ? tree[i].self - cost[i] : 0;
  }
  std::vector<uint64_t> total = summed_up(tree, self), total_cost = summed_up(tree, cost);
  std::vector<uint64_t> raw = inclusive_ns(tree);
  Compensation out;
  out.nodes.resize(n);
  out.functions.resize(report.functions.size());
  std::vector<uint64_t> function_cost(report.functions.size());
  for (uint32_t i = 1; i < n; i++) {
    out.nodes[i] = {self[i], total[i], much(cost[i], tree[i].self) || much(total_cost[i], raw[i])};
    out.functions[tree[i].function].self_ns += self[i];
    function_cost[tree[i].function] += cost[i];
  }
  auto totals = outermost_sums(tree, report.functions.size(), total);
  auto costs = outermost_sums(tree, report.functions.size(), total_cost);
  for (size_t i = 1; i < report.functions.size(); i++) {
    const ReportFunction& f = report.functions[i];
    out.functions[i].total_ns = totals[i];
    out.functions[i].rough = much(function_cost[i], f.self_ns) || much(costs[i], f.running_ns);
  }
  return out;
}

}  // namespace luatrace::analyze
