// SPDX-License-Identifier: MIT
#include "analyzer/report/diff.h"

#include <cmath>

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
  Diff& diff_;
  Report both_;
};

void Differ::add(const Report& report, bool after, double factor) {
  std::vector<uint32_t> map{0, 1};
  auto& functions = after ? diff_.after : diff_.before;
  auto& occurs = after ? diff_.is : diff_.was;
  for (uint32_t i = 0; i < report.functions.size(); i++) {
    if (i >= 2) map.push_back(both_.function(report.functions[i]));
    functions.resize(std::max(functions.size(), both_.functions.size()));
    occurs.resize(functions.size());
    ReportFunction f = report.functions[i];
    for (auto* time :
         {&f.self_ns, &f.inner_self_ns, &f.running_ns, &f.wall_ns, &f.min_ns, &f.max_ns, &f.sum_ns})
      *time = scaled(*time, factor);
    functions[map[i]] = f;
    // A trace may describe functions that never ran.
    occurs[map[i]] = i < 2 || f.calls || f.wall_ns || f.self_ns || f.inner_self_ns;
  }
  std::vector<uint64_t> total = inclusive_ns(report.tree);
  std::vector<uint32_t> place(report.tree.size());
  for (uint32_t i = 0; i < report.tree.size(); i++) {
    const CallNode& n = report.tree[i];
    if (i) place[i] = both_.tree.enter(place[n.parent], map[n.function]);
    diff_.nodes.resize(both_.tree.size());
    DiffNode& to = diff_.nodes[place[i]];
    to.parent = both_.tree[place[i]].parent;
    to.function = both_.tree[place[i]].function;
    (after ? to.after : to.before) = {n.calls, scaled(i ? n.self : 0, factor),
                                      scaled(total[i], factor)};
  }
}

void Differ::finish() {
  const size_t n = both_.functions.size();
  for (auto* list : {&diff_.before, &diff_.after}) list->resize(n);
  for (auto* list : {&diff_.was, &diff_.is}) list->resize(n);
  diff_.by_name = by_name(both_.functions, 1);
  const auto order = canonical_order(both_.tree, name_ranks(both_.functions));
  std::vector<uint32_t> place(order.size());
  std::vector<DiffNode> nodes;
  for (uint32_t i : order) {
    place[i] = static_cast<uint32_t>(nodes.size());
    nodes.push_back(diff_.nodes[i]);
    nodes.back().parent = place[nodes.back().parent];
  }
  diff_.nodes = std::move(nodes);
}

void copy_sums(Report& to, const Report& from) {
  to.self_ns = from.self_ns;
  to.idle_ns = from.idle_ns;
  to.gap_ns = from.gap_ns;
  to.traced_ns = from.traced_ns;
  to.duration_ns = from.duration_ns;
  to.trust = from.trust;
  to.grouped = from.grouped;
}

}  // namespace

Diff make_diff(const Report& before, const Report& after, bool normalize) {
  Diff diff;
  if (normalize && before.self_ns)
    diff.scale = static_cast<double>(after.self_ns) / static_cast<double>(before.self_ns);
  copy_sums(diff.before_sums, before);
  copy_sums(diff.after_sums, after);
  diff.before_sums.self_ns = scaled(before.self_ns, diff.scale);
  Differ differ(diff);
  differ.add(before, false, diff.scale);
  differ.add(after, true, 1);
  differ.finish();
  return diff;
}

}  // namespace luatrace::analyze
