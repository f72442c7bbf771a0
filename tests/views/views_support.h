// SPDX-License-Identifier: MIT
// For the tests of filters and views: a report of a trace in memory, read by the sink of filters.
#pragma once

#include <string>

#include "analyzer/report/report.h"
#include "support.h"

namespace luatrace::analyze {

// `from`, `to`: ticks. `slow`: patterns of --slow. The sink gets single calls.
Report analyse_filtered(const std::string& text, const FilterOptions& options, uint64_t from = 0,
                        uint64_t to = UINT64_MAX, const std::vector<std::string>& slow = {});

// The same, but the sink adds up in runs.
Report sum_filtered(const std::string& text, const FilterOptions& options, uint64_t from = 0,
                    uint64_t to = UINT64_MAX);

}  // namespace luatrace::analyze
