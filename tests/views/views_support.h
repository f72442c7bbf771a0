// SPDX-License-Identifier: MIT
// For the tests of filters and views: a report of a trace in memory, read by the sink that follows
// single calls.
#pragma once

#include <string>

#include "analyzer/aggregate/report.h"
#include "support.h"

namespace luatrace {

// `from`, `to`: ticks. `slow`: patterns of --slow.
Report analyse_filtered(const std::string& text, const FilterOptions& options, uint64_t from = 0,
                        uint64_t to = UINT64_MAX, const std::vector<std::string>& slow = {});

}  // namespace luatrace
