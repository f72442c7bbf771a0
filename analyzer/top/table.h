// SPDX-License-Identifier: MIT
// The table of one interval: a line of sums, and a row for each function.
#pragma once

#include <string>

#include "analyzer/output/table.h"
#include "analyzer/read/diagnostics.h"
#include "analyzer/report/report.h"

namespace luatrace::top {

struct TableOptions {
  std::string sort = "self";
  size_t limit = 20;  // Rows; 0: all.
  analyze::TextStyle style;
};

// `all`: the counters since the beginning. The text is escaped.
std::string table_text(const analyze::Report& interval, const analyze::Trust& all,
                       const TableOptions& options);

}  // namespace luatrace::top
