// SPDX-License-Identifier: MIT
// --diff: two reports side by side. Functions are matched by identity, call paths by their
// functions.
//
// This is also the data of a differential flame graph: the width of a node is its time in `after`,
// its colour the difference between `after` and `before`.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/report/report.h"

namespace luatrace::analyze {

// Of a node of the call tree, in ns.
struct NodeFigures {
  uint64_t calls = 0, self_ns = 0;
};

struct Diff {
  // The functions of both reports, from kReportRoot. A function that is missing from a report has
  // an empty entry there.
  std::vector<ReportFunction> before, after;
  std::vector<bool> in_before, in_after;  // By function: whether it occurs there.
  std::vector<uint32_t> by_name;          // The functions but the root, sorted by name.
  // The call paths of both reports in canonical order, with the figures of `after`; those of
  // `before` by node.
  CallTree tree;
  std::vector<NodeFigures> before_nodes;
  uint64_t before_self_ns = 0, after_self_ns = 0;  // Of all functions.
  bool grouped = false;                            // As in the report `after`.
  bool sampled = false;                            // Both reports are of samples.
  double scale = 1;                                // The factor applied to times of `before`.

  const ReportFunction& any(uint32_t i) const {
    return in_after[i] || before[i].kind == FunctionKind::kNone ? after[i] : before[i];
  }
};

// Inclusive time by node, in ns, as inclusive_ns(tree), but of the figures of `before`.
std::vector<uint64_t> inclusive_before_ns(const CallTree& tree,
                                          const std::vector<NodeFigures>& before);

// `normalize` scales the times of `before` so that the total self time of both reports is equal.
Diff make_diff(const Report& before, const Report& after, bool normalize);

}  // namespace luatrace::analyze
