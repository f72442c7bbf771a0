// SPDX-License-Identifier: MIT
// The page of --flame and --page, from what the analyzer found out.
#pragma once

#include <iosfwd>
#include <string>

#include "analyzer/output/page/flame_page.h"
#include "analyzer/report/diff.h"
#include "analyzer/report/report.h"

namespace luatrace::analyze {

// What the page shows besides the report.
struct FlameSource {
  const FlameChart* chart = nullptr;  // May be empty; its functions are those of the report.
  std::string no_chart;               // Why it is.
  size_t most_nodes = 300000;         // Of the call tree; 0: all.
};

void write_flame(std::ostream& out, const Report& report, const FlameSource& source = {});
// The same with what was before: `diff` is that of the two reports.
void write_flame_diff(std::ostream& out, const Diff& diff, const Report& after,
                      const Report& before, const FlameSource& source);

}  // namespace luatrace::analyze
