// SPDX-License-Identifier: MIT
// What observers kept of one file, in the terms of the report.
#pragma once

#include "analyzer/report/report.h"

namespace luatrace::analyze {

// `map`: from functions of the file to functions of the report, 0 for those not in it yet.
void add_views(Report& report, const FileResult& result, const std::vector<uint32_t>& map,
               const SymbolFinder& symbols);
// UINT64_MAX if nothing was traced.
uint64_t first_tick(const TraceFacts& facts);

}  // namespace luatrace::analyze
