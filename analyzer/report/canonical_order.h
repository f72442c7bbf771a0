// SPDX-License-Identifier: MIT
// An order of functions and nodes that depends on what they are, not on what came first: threads
// that share the streams of a trace find them in an order of chance, and what was merged before
// comes first.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/collect/call_tree.h"
#include "analyzer/report/report.h"
#include "analyzer/report/report_function.h"

namespace luatrace::analyze {

// All nodes, parents before their children, children of one node in the order of their functions'
// `rank` (by function; those of equal rank in the tree's order).
std::vector<uint32_t> canonical_order(const CallTree& tree, const std::vector<uint32_t>& rank);

// The place of each function among all: by name, as reports show it, then by chunk and line.
std::vector<uint32_t> name_ranks(const std::vector<ReportFunction>& functions);
// The functions in this order, without the first `skip`.
std::vector<uint32_t> by_name(const std::vector<ReportFunction>& functions, uint32_t skip);

// By index: the place of each file in an order that does not depend on which was given first.
std::vector<uint32_t> file_ranks(const std::vector<ReportFile>& files);

}  // namespace luatrace::analyze
