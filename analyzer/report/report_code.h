// SPDX-License-Identifier: MIT
// Where in which files the C functions of a report are, for --symbols.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "analyzer/report/report_function.h"

namespace luatrace::analyze {

struct FileResult;
struct NativeCode;
struct Report;

// A function's code at one place of a file, with the sums of the calls that ran there: two static
// functions of one name, or those of two builds of a library, are one function of the report.
struct ReportCode {
  uint32_t function = 0;  // Of the report.
  uint64_t calls = 0;
  uint64_t self_ns = 0;  // Over the places of a function that is its self time.
  std::shared_ptr<const NativeCode> code;
};

// Adds those of one file, of which `map` has the report's functions (0: none is left), to
// report.codes.
void add_codes(Report& report, const FileResult& file, const std::vector<uint32_t>& map,
               const SymbolFinder& symbols);

}  // namespace luatrace::analyze
