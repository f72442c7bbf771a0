// SPDX-License-Identifier: MIT
// --diff: two reports side by side. Functions meet by identity, call chains by their functions.
//
// This is also the data for a flame graph in two colours: a node's width is its time now, its
// colour the difference of `after` and `before`.
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
  // Functions of both; 0 and 1 are the root and the unknown callers. `before` and `after` are empty
  // functions where there is none.
  std::vector<ReportFunction> before, after;
  std::vector<bool> was, is;      // By function: it occurs there.
  std::vector<uint32_t> by_name;  // The functions but the root, in the order of their names.
  std::vector<DiffNode> nodes;
  Report before_sums, after_sums;  // Sums only: no functions, no tree.
  double scale = 1;                // What times of `before` were multiplied with.

  const ReportFunction& any(uint32_t i) const {
    return is[i] || before[i].kind == FunctionKind::kNone ? after[i] : before[i];
  }
};

// `normalize`: times of `before` are scaled so that the self times of all functions are equal sums.
Diff make_diff(const Report& before, const Report& after, bool normalize);

}  // namespace luatrace::analyze
