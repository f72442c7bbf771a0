// SPDX-License-Identifier: MIT
// Files and offsets of the C functions of a report, for --symbols.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "analyzer/report/report_function.h"

namespace luatrace::analyze {

struct FileResult;
struct NativeCode;
struct Report;

// The code of a function at one offset of a file, with the sums of the calls that ran there. One
// function of the report may have several: static functions of the same name, or two builds of a
// library.
struct ReportCode {
  ReportFunctionId function;
  uint64_t calls = 0;
  uint64_t self_ns = 0;  // Sums to the self time over all locations of a function.
  std::shared_ptr<const NativeCode> code;
};

// Adds the locations of one file to report.codes. `map`: from functions of the file to functions of
// the report; kReportRoot if filtered out.
void add_codes(Report& report, const FileResult& file, const std::vector<ReportFunctionId>& map,
               const SymbolFinder& symbols);

}  // namespace luatrace::analyze
