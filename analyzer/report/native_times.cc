// SPDX-License-Identifier: MIT
// Native time of functions; see native_times.h.
#include "analyzer/report/native_times.h"

#include "analyzer/collect/tree_links.h"
#include "analyzer/symbols/vm_work.h"

namespace luatrace::analyze {
namespace {

// The collector, the compiler and the recording are no functions that the program calls.
bool is_native(const ReportFunction& f) {
  const bool of_vm = is_collector(f) || is_compiler(f) || is_recording(f);
  return !of_vm && (f.kind == FunctionKind::kC || f.kind == FunctionKind::kBuiltin);
}

}  // namespace

std::vector<uint64_t> native_times(const Report& report) {
  const CallTree& tree = report.tree;
  const std::vector<uint64_t> inclusive = inclusive_ns(tree);
  std::vector<uint64_t> times(report.functions.size());
  std::vector<uint32_t> open(report.functions.size());
  auto is_edge = [&](NodeId node) {
    return tree[node].parent && is_native(report.functions[tree[node].function]);
  };
  auto caller = [&](NodeId node) { return tree[tree[node].parent].function; };
  TreeLinks(tree).walk(
      [&](NodeId node) {
        if (is_edge(node) && open[caller(node)]++ == 0) times[caller(node)] += inclusive[node];
      },
      [&](NodeId node) {
        if (is_edge(node)) open[caller(node)]--;
      });
  return times;
}

}  // namespace luatrace::analyze
