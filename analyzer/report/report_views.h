// SPDX-License-Identifier: MIT
// Adds what the observers of one file collected to the report.
#pragma once

#include <functional>

#include "analyzer/report/report.h"

namespace luatrace::analyze {

// `map`: from functions of the file to functions of the report; kReportRoot if not in it yet.
void add_views(Report& report, const FileResult& result, const std::vector<ReportFunctionId>& map,
               const SymbolFinder& symbols);
// Returns a request without its file, id and beginning. `function` maps functions of the file to
// those of the report.
ReportRequest report_request(const RequestSums& from,
                             const std::function<ReportFunctionId(FunctionId)>& function);
// The time of the first event, in ticks; UINT64_MAX if nothing was traced.
uint64_t first_tick(const TraceFacts& facts);

}  // namespace luatrace::analyze
