// SPDX-License-Identifier: MIT
// The tables of --jit.
#pragma once

#include <vector>

#include "analyzer/collect/jit_log.h"
#include "analyzer/output/table.h"

namespace luatrace::analyze {

// What was given up, what stays interpreted, exits, and totals. limit: rows of each; 0: all.
std::vector<Table> jit_views(const JitLog& log, size_t limit);

}  // namespace luatrace::analyze
