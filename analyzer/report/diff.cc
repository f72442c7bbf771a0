// SPDX-License-Identifier: MIT
#include "analyzer/report/diff.h"

#include <cmath>

#include "analyzer/collect/tree_links.h"
#include "analyzer/report/canonical_order.h"

namespace luatrace::analyze {
namespace {

uint64_t scaled(uint64_t value, double factor) {
  if (factor == 1) return value;
  double out = static_cast<double>(value) * factor;
  return out < 1.8e19 ? static_cast<uint64_t>(std::llround(std::min(out, 9.2e18))) : UINT64_MAX;
}

// Merges the functions and trees of both into one report and records which came from which.
class Differ {
 public:
  explicit Differ(Diff& diff) : diff_(diff) {}
  void add(const Report& report, bool after, double factor);
  void finish();  // Sorts nodes and functions into an order independent of arrival.

 private:
  void add_nodes(const Report& report, const std::vector<ReportFunctionId>& map, bool after,
                 double factor);

  Diff& diff_;
  Report both_;                      // Its tree has the figures of `after`, ...
  std::vector<NodeFigures> before_;  // ... and this, by node, those of `before`.
};

void Differ::add(const Report& report, bool after, double factor) {
  std::vector<ReportFunctionId> map{kReportRoot, kReportUnknown};
  auto& functions = after ? diff_.after : diff_.before;
  auto& occurs = after ? diff_.in_after : diff_.in_before;
  for (uint32_t i = 0; i < report.functions.size(); i++) {
    if (i >= kReportFirst) map.push_back(both_.function(report.functions[i]));
    functions.resize(std::max(functions.size(), both_.functions.size()));
    occurs.resize(functions.size());
    ReportFunction f = report.functions[i];
    for (auto* time : {&f.self_ns, &f.inner_self_ns, &f.inclusive_ns, &f.wall_ns, &f.min_ns,
                       &f.max_ns, &f.sum_ns})
      *time = scaled(*time, factor);
    if (f.segments) {
      SegmentFigures& s = f.segments.own();
      for (auto* time : {&s.inside_ns, &s.apportioned_ns, &s.self_apportioned_ns})
        *time = scaled(*time, factor);
    }
    if (f.has_cpu_times())
      for (auto* time : {&f.cpu_ns, &f.self_cpu_ns}) *time = scaled(*time, factor);
    functions[map[i]] = f;
    // A trace may describe functions that never ran.
    occurs[map[i]] = i < kReportFirst || f.calls || f.wall_ns || f.self_ns || f.inner_self_ns;
  }
  add_nodes(report, map, after, factor);
}

void Differ::add_nodes(const Report& report, const std::vector<ReportFunctionId>& map, bool after,
                       double factor) {
  std::vector<NodeId> place(report.tree.size());
  for (NodeId i{1}; i < report.tree.size(); ++i) {
    const CallNode& n = report.tree[i];
    place[i] = both_.tree.enter(place[n.parent], map[n.function]);
    before_.resize(both_.tree.size());
    const NodeFigures figures{n.calls, scaled(n.self, factor)};
    if (after)
      both_.tree[place[i]].calls = figures.calls, both_.tree[place[i]].self = figures.self_ns;
    else
      before_[place[i]] = figures;
  }
}

void Differ::finish() {
  const size_t n = both_.functions.size();
  for (auto* list : {&diff_.before, &diff_.after}) list->resize(n);
  for (auto* list : {&diff_.in_before, &diff_.in_after}) list->resize(n);
  diff_.by_name = by_name(both_.functions, kReportUnknown);
  const CallTree& tree = both_.tree;
  std::vector<NodeId> place(tree.size());
  before_.resize(tree.size());
  diff_.before_nodes.resize(tree.size());
  for (NodeId i : canonical_order(tree, name_ranks(both_.functions))) {
    if (i == kRootNode) continue;
    place[i] = diff_.tree.enter(place[tree[i].parent], tree[i].function);
    diff_.tree[place[i]].calls = tree[i].calls;
    diff_.tree[place[i]].self = tree[i].self;
    diff_.before_nodes[place[i]] = before_[i];
  }
  diff_.tree.drop_index();
}

}  // namespace

std::vector<uint64_t> inclusive_before_ns(const CallTree& tree,
                                          const std::vector<NodeFigures>& before) {
  return subtree_sums(tree, [&](NodeId node) { return before[node].self_ns; });
}

Diff make_diff(const Report& before, const Report& after, bool normalize) {
  Diff diff;
  if (normalize && before.self_ns)
    diff.scale = static_cast<double>(after.self_ns) / static_cast<double>(before.self_ns);
  diff.before_self_ns = scaled(before.self_ns, diff.scale);
  diff.after_self_ns = after.self_ns;
  diff.grouped = after.grouped;
  diff.sampled = after.is_sampled();
  Differ differ(diff);
  differ.add(before, false, diff.scale);
  differ.add(after, true, 1);
  differ.finish();
  return diff;
}

}  // namespace luatrace::analyze
