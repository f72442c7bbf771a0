// SPDX-License-Identifier: MIT
// Orders functions and nodes by content rather than by arrival, which is not deterministic: worker
// threads share the streams of a trace, and files that were merged earlier come first.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/collect/profile.h"
#include "analyzer/report/report.h"
#include "analyzer/report/report_function.h"

namespace luatrace::analyze {

// All nodes, parents before their children, the children of a node by the `rank` of their functions
// (indexed by function); nodes of equal rank keep the order of the tree.
std::vector<NodeId> canonical_order(const CallTree& tree, const std::vector<uint32_t>& rank);

// The rank of each function, by index: by name as reports show it, then by chunk and line.
std::vector<uint32_t> name_ranks(const std::vector<ReportFunction>& functions);
// The indices of the functions in this order, without functions 0 to `skip` - 1.
std::vector<uint32_t> by_name(const std::vector<ReportFunction>& functions, uint32_t skip);

// The rank of each file, by index; it does not depend on the order in which files were given.
std::vector<uint32_t> file_ranks(const std::vector<ReportFile>& files);

}  // namespace luatrace::analyze
