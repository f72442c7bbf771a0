// SPDX-License-Identifier: MIT
// CPU time of functions; see cpu_times.h.
#include "analyzer/report/cpu_times.h"

#include <algorithm>
#include <vector>

#include "analyzer/collect/tree_links.h"
#include "analyzer/report/tree_times.h"

namespace luatrace::analyze {
namespace {

// By function: time in its own calls, for groups also in the calls of the functions in them
// (sum_up_groups()), during which the thread did not run.
std::vector<uint64_t> self_off_cpu(const Report& r) {
  std::vector<uint64_t> sums(r.functions.size());
  std::vector<NodeId> root(r.tree.size());
  for (NodeId i{1}; i < r.tree.size(); ++i) {
    root[i] = r.tree[i].parent ? root[r.tree[i].parent] : i;
    const uint32_t function = r.tree[i].function, group = r.tree[root[i]].function;
    const bool is_group = r.functions[function].kind == FunctionKind::kGroup;
    sums[function] += r.cpu.off_at(i);
    if (root[i] != i && !is_group && r.functions[group].kind == FunctionKind::kGroup)
      sums[group] += r.cpu.off_at(i);
  }
  return sums;
}

// Both were rounded.
uint64_t difference(uint64_t all, uint64_t part) {
  return all - std::min(all, part);
}

}  // namespace

void add_cpu_times(Report& r) {
  if (!r.cpu.known()) return;
  const std::vector<uint64_t> self = self_off_cpu(r);
  const std::vector<uint64_t> inclusive =
      outermost_sums(r.tree, r.functions.size(),
                     subtree_sums(r.tree, [&](NodeId node) { return r.cpu.off_at(node); }));
  for (size_t i = 0; i < r.functions.size(); i++) {
    ReportFunction& f = r.functions[i];
    f.cpu_ns = difference(f.inclusive_ns, inclusive[i]);
    f.self_cpu_ns = difference(f.self_ns + f.inner_self_ns, self[i]);
  }
}

}  // namespace luatrace::analyze
