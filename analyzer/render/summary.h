// SPDX-License-Identifier: MIT
// The report for people: what was recorded, the top functions, the trust line. Names are escaped.
#pragma once

#include <iosfwd>
#include <string>

#include "analyzer/aggregate/report.h"

namespace luatrace {

struct SummaryOptions {
  size_t top = 20;            // Rows of the table.
  std::string sort = "self";  // self, total, calls, avg, min, max, name
  bool color = false;
};

bool is_sort_key(const std::string& key);
void print_summary(std::ostream& out, const Report& report, const SummaryOptions& options);

}  // namespace luatrace
