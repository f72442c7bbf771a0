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

struct DiffFigures {
  uint64_t calls = 0, self_ns = 0, total_ns = 0;
};
struct DiffNode {
  uint32_t parent = 0, function = 0;  // Node 0 is the root; parents before children.
  DiffFigures before, after;
};

struct Diff {
  // The functions of both reports; 0 and 1 are the root and the unknown callers. A function that is
  // missing from a report has an empty entry there.
  std::vector<ReportFunction> before, after;
  std::vector<bool> was, is;      // By function: whether it occurs there.
  std::vector<uint32_t> by_name;  // The functions but the root, sorted by name.
  std::vector<DiffNode> nodes;
  Report before_sums, after_sums;  // Sums only: no functions, no tree.
  double scale = 1;                // The factor applied to times of `before`.

  const ReportFunction& any(uint32_t i) const {
    return is[i] || before[i].kind == FunctionKind::kNone ? after[i] : before[i];
  }
};

// `normalize` scales the times of `before` so that the total self time of both reports is equal.
Diff make_diff(const Report& before, const Report& after, bool normalize);

}  // namespace luatrace::analyze
