// SPDX-License-Identifier: MIT
// CPU time of functions; see cpu_times.h.
#include "analyzer/report/cpu_times.h"

#include <algorithm>
#include <vector>

#include "analyzer/collect/tree_links.h"
#include "analyzer/report/tree_times.h"

namespace luatrace::analyze {
namespace {

// Both were rounded.
uint64_t difference(uint64_t all, uint64_t part) {
  return all - std::min(all, part);
}

}  // namespace

void add_cpu_times(Report& r) {
  if (!r.cpu.known()) return;
  const std::vector<uint64_t> self = self_sums(r, r.cpu.off);
  const std::vector<uint64_t> inclusive =
      outermost_sums(r.tree, r.functions.size(),
                     subtree_sums(r.tree, [&](NodeId node) { return r.cpu.off.at(node); }));
  for (size_t i = 0; i < r.functions.size(); i++) {
    ReportFunction& f = r.functions[i];
    f.cpu_ns = difference(f.inclusive_ns, inclusive[i]);
    f.self_cpu_ns = difference(f.self_ns + f.inner_self_ns, self[i]);
  }
}

void add_apportioned_times(Report& r) {
  r.apportioned_ns = 0;
  for (NodeId i{1}; i < r.tree.size(); ++i) r.apportioned_ns += r.apportioned.at(i);
  if (!r.apportioned_ns) return;
  const std::vector<uint64_t> self = self_sums(r, r.apportioned);
  const std::vector<uint64_t> inclusive =
      outermost_sums(r.tree, r.functions.size(),
                     subtree_sums(r.tree, [&](NodeId node) { return r.apportioned.at(node); }));
  for (size_t i = 0; i < r.functions.size(); i++) {
    ReportFunction& f = r.functions[i];
    if (!inclusive[i] && !self[i]) continue;
    f.segments.own().apportioned_ns = std::min(f.inclusive_ns, inclusive[i]);
    f.segments.own().self_apportioned_ns = std::min(f.self_ns + f.inner_self_ns, self[i]);
  }
}

}  // namespace luatrace::analyze
